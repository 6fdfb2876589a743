/* charset.h -- sets of code points as byte expressions: UTF-8, or inside a JSON string.
 * Tested by tests/c/test_charset.c. */
#ifndef GLK_CHARSET_H
#define GLK_CHARSET_H

#include "expr.h"

glk_status glk_charset_expr(glk_exprs *exprs, const uint32_t *ranges, size_t count,
                            glk_encoding encoding, uint32_t *out, glk_error *err);

#endif
