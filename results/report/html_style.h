// The style sheet of report.html.
#pragma once

#include <string_view>

namespace assay::report {

// Colours are Okabe and Ito's (2008), safe for colour-blind readers; light, dark and print. Without
// the characters & and < so that the page is well-formed XML as well.
std::string_view html_style();

}  // namespace assay::report
