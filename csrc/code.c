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

/* Class or literal: what stands for all is "*". */
static void print_part(glk_text *text, const char *before, uint32_t part) {
    glk_text_add(text, before);
    if (part == GLK_EVERY) {
        glk_text_add(text, "*");
    } else {
        glk_text_number(text, part);
    }
}

static void print_formula(glk_text *text, const glk_container *container) {
    static const char *const names[] = {" [at_least ", " [all_but ", " [and", " [or"};
    const uint32_t *at = container->formula + 1;
    for (uint32_t i = 0; i < glk_formula_size(container); i++) {
        glk_formula_node node;
        at = glk_formula_read(at, &node);
        bool atom = node.kind <= GLK_F_ALL_BUT;
        glk_text_add(text, names[node.kind]);
        if (atom) {
            glk_text_number(text, node.bound);
        }
        for (uint32_t k = 0; k < node.count; k++) {
            print_part(text, " ", node.items[atom ? 2 * k : k]);
            if (atom) {
                print_part(text, ":", node.items[2 * k + 1]);
            }
        }
        glk_text_add(text, "]");
    }
}

static void print_class(glk_text *text, const glk_container *container, uint32_t k) {
    bool named = k < container->named;
    glk_text_add(text, !named ? " *" : glk_class_required(container, k) ? " !" : " ?");
    glk_text_number(text, glk_class_key(container, k));
    uint32_t choice = glk_class_first(container, k);
    for (uint32_t i = 0; i < glk_class_count(container, k); i++, choice++) {
        glk_text_add(text, i == 0 ? ":" : "|");
        glk_text_number(text, glk_choice_value(container, choice));
        if (glk_choice_literals(container, choice) != 0) {
            glk_text_add(text, "/");
            glk_text_number(text, glk_choice_literals(container, choice));
        }
    }
}

static void print_container(glk_text *text, const uint32_t *list) {
    static const char *const flags[] = {" unique", " endless", " tight",
                                        " bare"}; /* from GLK_UNIQUE on */
    glk_container container = glk_container_view(list);
    glk_text_add(text, (container.flags & GLK_ARRAY) != 0 ? " array" : " object");
    for (uint32_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if ((container.flags & (uint32_t)GLK_UNIQUE << i) != 0) {
            glk_text_add(text, flags[i]);
        }
    }
    glk_text_add(text, " ordered ");
    glk_text_number(text, container.ordered);
    glk_text_add(text, " gaps");
    for (const uint32_t *gap = container.gaps; gap < container.classes; gap++) {
        print_part(text, " ", *gap);
    }
    for (uint32_t k = 0; k < glk_container_classes(&container); k++) {
        print_class(text, &container, k);
    }
    print_formula(text, &container);
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
                                        "ALT",   "REP",  "TOKENS", "JUMP",  "CONTAINER"};
    glk_op op = (glk_op)instr->op;
    glk_text_add(text, names[op]);
    if (op != GLK_OP_EMPTY && op != GLK_OP_ALT && op != GLK_OP_TOKENS && op != GLK_OP_CONTAINER) {
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
    } else if (op == GLK_OP_CONTAINER) {
        print_container(text, glk_code_list(self, instr->b));
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
