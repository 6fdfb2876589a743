/* counted.h -- tokens inside a string of limited length: how many characters they have says it all.
 * Tested by tests/c/test_terminal.c and tests/test_strings.py.
 *
 * Near its end a string of at most n characters, x{lo,n} and a quote, has no simpler base: most tokens
 * are too long, or nearly, and each remaining n would walk them all.  But where every character of some
 * groups (groups.h) is one x and no more, and the tail begins with none of them, a token of such
 * characters stays inside exactly if there are at most n, counting one that it breaks off in.  So the
 * tokens' groups and numbers of characters are kept once, two bytes a token, and one pass over them
 * replaces the walk of all subtrees that hold nothing else.
 */
#ifndef GLK_COUNTED_H
#define GLK_COUNTED_H

#include "terminal.h"

typedef struct glk_counted {
    uint8_t groups; /* their characters count; 0: nothing is known */
    uint32_t most;
} glk_counted;

/* What counts in a state; the registry's lock is held. */
glk_status glk_counted_find(glk_terminals *self, uint32_t state, glk_counted *out, glk_error *err);

/* Sets the bits of all tokens of those groups and of at most that many characters in `marks`, which has
 * none of them; *count of them.  The registry's lock is held. */
glk_status glk_counted_mark(glk_terminals *self, const glk_counted *what, uint32_t *marks,
                            uint32_t *count, glk_error *err);

#endif
