/* code.c -- life, death and text of a flat program; see code.h. */
#include "code.h"

#include "text.h"

void glk_code_init(glk_code *self, glk_account *account) {
    glk_vec_init(&self->instrs, account, sizeof(glk_instr));
    glk_vec_init(&self->lists, account, sizeof(uint32_t));
    self->root = 0;
    self->counted = false;
}

void glk_code_free(glk_code *self) {
    glk_vec_free(&self->instrs);
    glk_vec_free(&self->lists);
    self->root = 0;
    self->counted = false;
}

static void print_pair(glk_text *text, const char *before, uint32_t x, uint32_t y) {
    glk_text_add(text, before);
    glk_text_number(text, x);
    glk_text_add(text, ":");
    glk_text_number(text, y);
}

static void print_list(glk_text *text, const uint32_t *list) {
    for (uint32_t i = 1; i <= list[0]; i++) {
        glk_text_add(text, " ");
        glk_text_number(text, list[i]);
    }
}

static void print_table(glk_text *text, const uint32_t *list) {
    for (uint32_t i = 0; i < list[0]; i++) {
        print_pair(text, " ", list[1 + 2 * i], list[2 + 2 * i]);
    }
}

static void print_object(glk_text *text, const uint32_t *list) {
    const uint32_t *item = list + 3;
    glk_text_add(text, list[2] == GLK_ORDER_ANY ? " any" : " declared");
    for (uint32_t i = 0; i < list[0]; i++, item += 3) {
        print_pair(text, item[2] != 0 ? " !" : " ?", item[0], item[1]);
    }
    for (uint32_t i = 0; i < list[1]; i++, item += 2) {
        print_pair(text, " *", item[0], item[1]);
    }
}

static void print_bounds(glk_text *text, const glk_instr *instr) {
    glk_text_add(text, " {");
    glk_text_number(text, instr->lo);
    glk_text_add(text, ",");
    if (instr->hi != GLK_UNBOUNDED) {
        glk_text_number(text, instr->hi);
    }
    glk_text_add(text, "}");
}

static void print_instr(const glk_code *self, glk_text *text, const glk_instr *instr) {
    static const char *const names[] = {"EMPTY", "TERM", "SWITCH", "TABLE", "CAT",
                                        "ALT",   "REP",  "TOKENS", "JUMP",  "OBJECT"};
    glk_op op = (glk_op)instr->op;
    glk_text_add(text, names[op]);
    if (op != GLK_OP_EMPTY && op != GLK_OP_ALT && op != GLK_OP_TOKENS) {
        glk_text_add(text, " ");
        glk_text_number(text, instr->a);
    }
    if (op == GLK_OP_CAT) {
        glk_text_add(text, " ");
        glk_text_number(text, instr->b);
    } else if (op == GLK_OP_ALT || op == GLK_OP_TOKENS) {
        print_list(text, glk_code_list(self, instr->b));
    } else if (op == GLK_OP_SWITCH) {
        print_table(text, glk_code_list(self, instr->b));
    } else if (op == GLK_OP_OBJECT) {
        print_object(text, glk_code_list(self, instr->b));
    } else if (op == GLK_OP_REP) {
        print_bounds(text, instr);
    }
}

void glk_code_dump(const glk_code *self, char *buffer, size_t capacity, size_t *needed) {
    glk_text text = {.buffer = buffer, .capacity = capacity};
    glk_text_add(&text, "root ");
    glk_text_number(&text, self->root);
    glk_text_add(&text, self->counted ? " counted\n" : "\n");
    for (uint32_t id = 0; id < glk_code_count(self); id++) {
        glk_text_number(&text, id);
        glk_text_add(&text, " ");
        print_instr(self, &text, glk_code_at(self, id));
        glk_text_add(&text, "\n");
    }
    glk_text_end(&text);
    *needed = text.length;
}
