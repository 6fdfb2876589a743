/* test_formula.c -- formulas over members, by hand and at random: members one by one against the
 * definition, and whether they can be finished against all ways to go on. */
#include "containers.h"
#include "formula.h"

enum { LIST_WORDS = 400, MOST_CLASSES = 5, MOST_MEMBERS = 32, MOST_BOUND = 3, PLENTY = 1 << 24 };

static glk_error err;

/* ---- lists, put together by hand ---- */

typedef struct list {
    uint32_t words[LIST_WORDS], count;
    uint32_t nodes; /* place of the formula's first word, 0 before there is one */
} list;

static void push(list *self, uint32_t word) {
    CHECK(self->count < LIST_WORDS);
    self->words[self->count++] = word;
}

/* Classes with `choices[k]` choices each; their values are numbered, their literals come after. */
static void open_list(list *self, uint32_t flags, uint32_t named, uint32_t free, uint32_t ordered,
                      const uint32_t *choices) {
    uint32_t total = 0;
    *self = (list){{named, free, ordered, flags}, GLK_CONTAINER_HEADER, 0};
    for (uint32_t k = 0; k < named + free; k++) {
        push(self, 0);
        push(self, 0);
        push(self, total);
        push(self, choices[k]);
        total += choices[k];
    }
    self->words[4] = total;
    for (uint32_t c = 0; c < total; c++) {
        push(self, c);
        push(self, 0);
    }
}

static void require(list *self, uint32_t k) {
    self->words[GLK_CONTAINER_HEADER + GLK_CLASS_WORDS * k + 1] = 1;
}

static void assert_literals(list *self, uint32_t choice, uint32_t literals) {
    uint32_t classes = self->words[0] + self->words[1];
    self->words[GLK_CONTAINER_HEADER + GLK_CLASS_WORDS * classes + GLK_CHOICE_WORDS * choice + 1] =
        literals;
}

/* Begins a node with this word after its kind: an atom's bound, or how many parts are joined. */
static uint32_t open_node(list *self, uint32_t kind, uint32_t word) {
    if (self->nodes == 0) {
        self->nodes = self->count;
        push(self, 0);
    }
    push(self, kind);
    push(self, word);
    return self->words[self->nodes]++;
}

static uint32_t atom(list *self, uint32_t kind, uint32_t bound, uint32_t class, uint32_t literal) {
    uint32_t id = open_node(self, kind, bound);
    push(self, 1);
    push(self, class);
    push(self, literal);
    return id;
}

static uint32_t join(list *self, uint32_t kind, uint32_t a, uint32_t b) {
    uint32_t id = open_node(self, kind, 2);
    push(self, a);
    push(self, b);
    return id;
}

static glk_container view(list *self) {
    self->words[5] = self->nodes == 0 ? 0 : self->count - self->nodes;
    return glk_container_view(self->words);
}

/* ---- random lists ---- */

static uint32_t random_pairs(list *self, uint32_t classes) {
    uint32_t count = 1 + check_random(3);
    push(self, count);
    for (uint32_t i = 0; i < count; i++) {
        bool every = classes == 0 || check_random(4) == 0;
        push(self, every ? GLK_EVERY : check_random(classes));
        push(self, every || check_random(3) == 0 ? GLK_PRESENCE : check_random(3));
    }
    return count;
}

static void random_formula(list *self, uint32_t classes) {
    uint32_t count = 1 + check_random(7);
    for (uint32_t id = 0; id < count; id++) {
        uint32_t kind = id == 0 ? check_random(2) : check_random(4);
        bool is_atom = kind < GLK_F_AND;
        uint32_t parts = check_random(4);
        (void)open_node(self, kind, is_atom ? check_random(MOST_BOUND + 1) : parts);
        for (uint32_t i = 0; i < parts && !is_atom; i++) {
            push(self, check_random(id));
        }
        if (is_atom) {
            (void)random_pairs(self, classes);
        }
    }
}

static void random_list(list *self, bool array) {
    uint32_t named = check_random(4), free = check_random(array ? 2 : 3), choices[MOST_CLASSES];
    for (uint32_t k = 0; k < named + free; k++) {
        choices[k] = check_random(5) == 0 ? 0 : 1 + check_random(2);
    }
    open_list(self, array ? GLK_ARRAY : 0, named, free, array ? 0 : check_random(named + 1),
              choices);
    for (uint32_t k = 0; k < named && !array; k++) {
        if (check_random(4) == 0) {
            require(self, k);
        }
    }
    for (uint32_t c = 0; c < self->words[4]; c++) {
        assert_literals(self, c, check_random(8));
    }
    if (check_random(12) > 0) {
        random_formula(self, named + free);
    }
}

/* ---- members one by one ---- */

typedef struct story { /* members in the order in which they come */
    met_member members[MOST_MEMBERS];
    uint32_t count;
    uint32_t residual[DRAFT_WORDS];
} story;

static void begin(story *self, const glk_container *container) {
    self->count = 0;
    CHECK_OK(glk_formula_start(container, self->residual, &err));
}

static void meet(story *self, const glk_container *container, uint32_t k, uint32_t choice,
                 uint32_t times) {
    CHECK(self->count + times <= MOST_MEMBERS);
    for (uint32_t i = 0; i < times; i++) {
        self->members[self->count++] =
            (met_member){k, glk_choice_literals(container, choice)};
    }
    CHECK_OK(glk_formula_step(container, self->residual, k, choice, times, &err));
}

/* The residual against the definition; where it is decided, whatever follows. */
static void check_story(const story *self, const glk_container *container) {
    bool closes = false, holds = formula_holds(container, self->members, self->count);
    uint32_t nodes = glk_formula_size(container), settled[DRAFT_WORDS];
    CHECK_OK(glk_formula_closes(container, self->residual, &closes, &err));
    CHECK_EQUAL(closes, holds);
    if (nodes == 0) {
        return;
    }
    CHECK(self->residual[nodes - 1] != GLK_F_TRUE || holds);
    CHECK(self->residual[nodes - 1] != GLK_F_FALSE || !holds);
    memcpy(settled, self->residual, sizeof settled);
    CHECK_OK(glk_formula_settle(container, settled, &err));
    CHECK(memcmp(settled, self->residual, nodes * sizeof *settled) == 0);
}

static void test_random_members(void) {
    list made;
    for (int round = 0; round < 20000; round++) {
        story told = {.count = 0};
        random_list(&made, round % 2 == 0);
        glk_container container = view(&made);
        uint32_t classes = glk_container_classes(&container);
        begin(&told, &container);
        check_story(&told, &container);
        for (int i = 0; i < 6 && classes > 0; i++) {
            uint32_t k = check_random(classes), count = glk_class_count(&container, k);
            if (count > 0) {
                uint32_t choice = glk_class_first(&container, k) + check_random(count);
                meet(&told, &container, k, choice, 1 + check_random(2) * check_random(4));
                check_story(&told, &container);
            }
        }
    }
}

/* A residual forgets what no longer matters: equal words after different members. */
static void test_same_words(void) {
    list made;
    story one = {.count = 0}, other = {.count = 0};
    open_list(&made, 0, 2, 1, 0, (uint32_t[]){1, 1, 1});
    uint32_t a = atom(&made, GLK_F_AT_LEAST, 1, 0, GLK_PRESENCE);
    uint32_t many = atom(&made, GLK_F_AT_LEAST, 5, 2, GLK_PRESENCE);
    uint32_t b = atom(&made, GLK_F_AT_LEAST, 1, 1, GLK_PRESENCE);
    uint32_t either = join(&made, GLK_F_OR, a, many);
    (void)join(&made, GLK_F_AND, either, b);
    glk_container container = view(&made);
    begin(&one, &container);
    begin(&other, &container);
    meet(&one, &container, 0, 0, 1);
    meet(&other, &container, 2, 2, 3);
    CHECK(memcmp(one.residual, other.residual, 5 * sizeof(uint32_t)) != 0);
    meet(&other, &container, 0, 0, 1);
    CHECK(memcmp(one.residual, other.residual, 5 * sizeof(uint32_t)) == 0);
    CHECK_EQUAL(one.residual[many], GLK_F_MOOT);
    meet(&one, &container, 1, 1, 1);
    meet(&other, &container, 2, 2, 9);
    meet(&other, &container, 1, 1, 1);
    CHECK_EQUAL(one.residual[4], GLK_F_TRUE);
    CHECK(memcmp(one.residual, other.residual, 5 * sizeof(uint32_t)) == 0);
}

/* ---- all ways to go on ---- */

typedef struct position { /* what an outlook says, and the members so far */
    const glk_outlook *outlook;
    story *told;
    uint32_t more; /* members that were added */
} position;

static bool may_use(const void *context, uint32_t value) {
    return (*(const uint32_t *)context >> value & 1u) != 0;
}

static bool is_usable(const glk_outlook *outlook, uint32_t choice) {
    return outlook->usable == NULL ||
           outlook->usable(outlook->context, glk_choice_value(outlook->container, choice));
}

static bool can_finish(position *self, uint32_t k);

/* Goes on with `times` members of class `k`, then with the next class. */
static bool finishes_with(position *self, uint32_t k, uint32_t choice, uint32_t times,
                          bool (*rest)(position *self, uint32_t k, uint32_t choice),
                          uint32_t next_choice) {
    uint32_t count = self->told->count;
    CHECK(count + times <= MOST_MEMBERS);
    for (uint32_t i = 0; i < times; i++) {
        self->told->members[self->told->count++] =
            (met_member){k, glk_choice_literals(self->outlook->container, choice)};
    }
    bool found = rest(self, k, next_choice);
    self->told->count = count;
    return found;
}

static bool next_class(position *self, uint32_t k, uint32_t unused) {
    (void)unused;
    return can_finish(self, k + 1);
}

/* Any number of members for each choice of a free class, from `choice` on; more than the largest
 * bound hit nothing new. */
static bool spread(position *self, uint32_t k, uint32_t choice) {
    const glk_container *container = self->outlook->container;
    if (choice == glk_class_first(container, k) + glk_class_count(container, k)) {
        return can_finish(self, k + 1);
    }
    uint32_t most = is_usable(self->outlook, choice) ? MOST_BOUND : 0;
    for (uint32_t times = 0; times <= most; times++) {
        if (finishes_with(self, k, choice, times, spread, choice + 1)) {
            return true;
        }
    }
    return false;
}

static bool is_decided(const glk_outlook *outlook, uint32_t k) {
    if ((outlook->container->flags & GLK_ARRAY) != 0) {
        return k < outlook->index;
    }
    return (k < outlook->container->ordered && k < outlook->index) ||
           (outlook->seen != NULL && (outlook->seen[0] >> k & 1u) != 0);
}

/* Whether members of the classes from `k` on can make the formula true. */
static bool can_finish(position *self, uint32_t k) {
    const glk_container *container = self->outlook->container;
    bool array = (container->flags & GLK_ARRAY) != 0;
    if (k == glk_container_classes(container)) {
        return formula_holds(container, self->told->members, self->told->count);
    }
    if (k >= container->named) {
        return spread(self, k, glk_class_first(container, k));
    }
    if (is_decided(self->outlook, k)) {
        return can_finish(self, k + 1);
    }
    uint32_t first = glk_class_first(container, k);
    for (uint32_t c = first; c < first + glk_class_count(container, k); c++) {
        if (is_usable(self->outlook, c) && finishes_with(self, k, c, 1, next_class, 0)) {
            return true;
        }
    }
    if (array) { /* it ends here */
        return formula_holds(container, self->told->members, self->told->count);
    }
    return !glk_class_required(container, k) && can_finish(self, k + 1);
}

/* ---- whether it can be finished ---- */

static bool is_feasible(const glk_outlook *outlook, const uint32_t *residual, uint64_t *steps) {
    bool found = false;
    CHECK_OK(glk_formula_feasible(outlook, residual, steps, &found, &err));
    return found;
}

/* The same answer with just enough steps; none with fewer. */
static void check_budget(const glk_outlook *outlook, const uint32_t *residual) {
    uint64_t left = PLENTY;
    bool found = is_feasible(outlook, residual, &left), again = false;
    uint64_t needed = PLENTY - left, fewer;
    CHECK(needed > 0);
    left = needed;
    CHECK_EQUAL(is_feasible(outlook, residual, &left), found);
    CHECK_EQUAL(left, 0);
    fewer = check_random((uint32_t)needed);
    CHECK_EQUAL(glk_formula_feasible(outlook, residual, &fewer, &again, &err), GLK_ERR_LIMIT);
    CHECK(strcmp(err.budget, "steps") == 0);
}

/* Some members that may have come: the outlook behind them. */
static void random_past(story *told, glk_outlook *outlook, uint32_t *seen) {
    const glk_container *container = outlook->container;
    bool array = (container->flags & GLK_ARRAY) != 0;
    uint32_t named = container->named, end = array ? check_random(named + 1) : named;
    begin(told, container);
    if (!array) {
        outlook->index = check_random(container->ordered + 1);
    }
    for (uint32_t k = 0; k < end; k++) {
        uint32_t count = glk_class_count(container, k);
        bool ahead = !array && k < container->ordered && k >= outlook->index;
        if (count == 0 || ahead || (!array && check_random(2) == 0)) {
            if (array) {
                break;
            }
            continue;
        }
        meet(told, container, k, glk_class_first(container, k) + check_random(count), 1);
        *seen |= 1u << k;
        outlook->index += array;
    }
    if (!array || outlook->index == named) {
        for (uint32_t k = named; k < glk_container_classes(container); k++) {
            uint32_t count = glk_class_count(container, k);
            if (count > 0) {
                uint32_t choice = glk_class_first(container, k) + check_random(count);
                meet(told, container, k, choice, check_random(3));
            }
        }
    }
}

static void test_random_outlooks(void) {
    list made;
    uint32_t answers[2] = {0, 0};
    for (int round = 0; round < 60000; round++) {
        story told = {.count = 0};
        uint32_t seen = 0, values = check_random(1u << 16);
        random_list(&made, round % 2 == 0);
        glk_container container = view(&made);
        glk_outlook outlook = {.container = &container};
        random_past(&told, &outlook, &seen);
        if ((container.flags & GLK_ARRAY) == 0) {
            outlook.seen = &seen;
        }
        if (round % 3 == 0) {
            outlook.usable = may_use;
            outlook.context = &values;
        }
        uint64_t steps = PLENTY;
        position here = {.outlook = &outlook, .told = &told};
        bool found = is_feasible(&outlook, told.residual, &steps);
        CHECK_EQUAL(found, can_finish(&here, 0));
        answers[found]++;
        if (round % 8 == 0) {
            check_budget(&outlook, told.residual);
        }
    }
    CHECK(answers[0] > 1000 && answers[1] > 1000);
}

/* ---- by hand ---- */

/* "if a then b", without c: b can come after c, but not once the declared order has passed it. */
static void test_order(void) {
    list made;
    open_list(&made, 0, 3, 0, 2, (uint32_t[]){1, 1, 1});
    uint32_t no_a = atom(&made, GLK_F_ALL_BUT, 0, 0, GLK_PRESENCE);
    uint32_t b = atom(&made, GLK_F_AT_LEAST, 1, 1, GLK_PRESENCE);
    uint32_t no_c = atom(&made, GLK_F_ALL_BUT, 0, 2, GLK_PRESENCE);
    uint32_t then = join(&made, GLK_F_OR, no_a, b);
    (void)join(&made, GLK_F_AND, then, no_c);
    glk_container container = view(&made);
    uint32_t there = 0;
    story told = {.count = 0};
    uint64_t steps = PLENTY;
    begin(&told, &container);
    glk_outlook outlook = {.container = &container, .seen = &there};
    CHECK(is_feasible(&outlook, told.residual, &steps));
    meet(&told, &container, 0, 0, 1);
    outlook.index = 1;
    CHECK(is_feasible(&outlook, told.residual, &steps));
    outlook.index = 2; /* another member has come instead of b */
    CHECK(!is_feasible(&outlook, told.residual, &steps));
    outlook.index = 1;
    there = 1u << 2;
    meet(&told, &container, 2, 2, 1);
    CHECK(!is_feasible(&outlook, told.residual, &steps));
}

/* A million members are one step; a million and one are too many. */
static void test_large_counts(void) {
    enum { MILLION = 1000000 };
    for (uint32_t excess = 0; excess < 2; excess++) {
        for (uint32_t array = 0; array < 2; array++) {
            list made;
            open_list(&made, array * GLK_ARRAY, 0, 1, 0, (uint32_t[]){2});
            assert_literals(&made, 0, 1);
            assert_literals(&made, 1, 2);
            uint32_t low = atom(&made, GLK_F_AT_LEAST, MILLION, 0, 0);
            uint32_t other = atom(&made, GLK_F_AT_LEAST, MILLION + excess, 0, 1);
            uint32_t high = atom(&made, GLK_F_ALL_BUT, 2 * MILLION, GLK_EVERY, GLK_PRESENCE);
            (void)join(&made, GLK_F_AND, join(&made, GLK_F_AND, low, other), high);
            glk_container container = view(&made);
            story told = {.count = 0};
            uint64_t steps = 1 << 14;
            begin(&told, &container);
            glk_outlook outlook = {.container = &container};
            if (excess == 0) {
                CHECK(is_feasible(&outlook, told.residual, &steps));
                continue;
            }
            bool found = true; /* that there is no way takes a search of all */
            glk_status status =
                glk_formula_feasible(&outlook, told.residual, &steps, &found, &err);
            CHECK(status == GLK_ERR_LIMIT || (status == GLK_OK && !found));
        }
    }
}

/* Without a formula only required members can be missing. */
static void test_no_formula(void) {
    list made;
    uint32_t usable = 0;
    uint64_t steps = PLENTY;
    open_list(&made, 0, 2, 1, 0, (uint32_t[]){2, 1, 1});
    glk_container container = view(&made);
    glk_outlook outlook = {.container = &container, .usable = may_use, .context = &usable};
    CHECK(is_feasible(&outlook, NULL, &steps));
    require(&made, 0);
    CHECK(!is_feasible(&outlook, NULL, &steps));
    usable = 1u << 1; /* the second choice of the required class */
    CHECK(is_feasible(&outlook, NULL, &steps));
}

/* ---- memory ---- */

enum { MANY_NODES = 300 };

typedef struct large {
    uint32_t words[LIST_WORDS * 8];
} large;

/* An AND of atoms, more than fit into a function's frame. */
static void make_large(large *self) {
    uint32_t *at = self->words + GLK_CONTAINER_HEADER;
    memset(self, 0, sizeof *self);
    self->words[1] = 1;
    self->words[4] = 1;
    memcpy(at, (uint32_t[]){0, 0, 0, 1, 0, 1}, 6 * sizeof *at);
    uint32_t *formula = at + 6;
    at = formula + 1;
    for (uint32_t i = 0; i + 1 < MANY_NODES; i++) {
        memcpy(at, (uint32_t[]){GLK_F_AT_LEAST, i % 9, 1, 0, 0}, 5 * sizeof *at);
        at += 5;
    }
    *at++ = GLK_F_AND;
    *at++ = MANY_NODES - 1;
    for (uint32_t i = 0; i + 1 < MANY_NODES; i++) {
        *at++ = i;
    }
    formula[0] = MANY_NODES;
    self->words[5] = (uint32_t)(at - formula);
    CHECK(at <= self->words + sizeof self->words / sizeof *self->words);
}

static glk_status use_large(void *context, glk_error *error) {
    glk_container container = glk_container_view(((const large *)context)->words);
    uint32_t residual[MANY_NODES];
    uint64_t steps = PLENTY;
    bool yes = false;
    glk_outlook outlook = {.container = &container};
    GLK_TRY(glk_formula_start(&container, residual, error));
    GLK_TRY(glk_formula_feasible(&outlook, residual, &steps, &yes, error));
    CHECK(yes);
    GLK_TRY(glk_formula_step(&container, residual, 0, 0, 7, error));
    GLK_TRY(glk_formula_closes(&container, residual, &yes, error));
    CHECK(!yes);
    GLK_TRY(glk_formula_step(&container, residual, 0, 0, 1, error));
    GLK_TRY(glk_formula_closes(&container, residual, &yes, error));
    CHECK(yes);
    return GLK_OK;
}

static void test_failing_allocations(void) {
    large *made = check_memory(sizeof *made);
    make_large(made);
    CHECK(check_failing_allocations(use_large, made) > 5);
    free(made);
}

int main(void) {
    test_random_members();
    test_same_words();
    test_random_outlooks();
    test_order();
    test_large_counts();
    test_no_formula();
    test_failing_allocations();
    return check_done();
}
