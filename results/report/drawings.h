// The drawings of a report, each an <svg> element of a given width.
#pragma once

#include <string>

#include "results/report/report.h"
#include "results/report/timeline.h"

namespace assay::report {

// The operations of the witness, a row per process, with values and the order that real time
// imposes, above the states of the last legal order and the nodes with their roles and faults; below,
// the steps of that order and where it breaks. Empty when there is no witness.
std::string witness_drawing(const Report& report, double width);

// The whole run as one strip: faults, a lane per node with leader, term and faults, operations per
// second, phases, stalls of the host. Empty without times.
std::string run_strip(const Report& report, const Timeline& timeline, double width);

// Plots over the time of the run, under bands of faults.
std::string throughput_plot(const Report& report, const Timeline& timeline, double width);
std::string latency_plot(const Report& report, const Timeline& timeline, double width);
std::string availability_plot(const Report& report, const Timeline& timeline, double width);
// How far off each node's clock was; empty where no fault touched clocks.
std::string clock_plot(const Report& report, double width);

}  // namespace assay::report
