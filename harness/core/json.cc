#include "harness/core/json.h"

#ifdef PROCTOR_JSON_TEMPLATES
PROCTOR_JSON_TEMPLATES()
#endif
