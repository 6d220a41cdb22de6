#include "results/report/html_style.h"

namespace assay::report {
namespace {

constexpr std::string_view kStyle = R"css(
:root {
  --paper: #ffffff; --panel: #f6f7f9; --line: #e2e6ea; --ink: #1b2128; --soft: #56616c; --faint: #66717d;
  --ok: #009e73; --fail: #98a0a9; --info: #e69f00; --leader: #0072b2; --follower: #9db3c6;
  --candidate: #e69f00; --down: #56616c;
  --partition: #cc79a7; --pause: #56b4e9; --kill: #d55e00; --delay: #3f7f93; --other: #8c8600;
  --starve: #7b5ea7; --memory: #a0522d; --clock: #117733;
  --good: #00785a; --bad: #b84c00; --doubt: #8a5a00; --stuck: #9c3f74; --void: #46586a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181d; --panel: #1d2329; --line: #323a43; --ink: #e6eaee; --soft: #a9b4bf; --faint: #8d98a4;
    --fail: #7f8892; --leader: #3a9ad9; --follower: #5d7488; --down: #a9b4bf; --other: #b9b233;
    --starve: #a78bd0; --memory: #cf8a63; --clock: #52b172;
    --good: #00a57a; --bad: #e0701f; --doubt: #d39a2c; --stuck: #d083b0; --void: #8fa5ba;
  }
}
* { box-sizing: border-box; }
html { color-scheme: light dark; }
body { margin: 0 auto; max-width: 1280px; padding: 18px 24px 40px; background: var(--paper); color: var(--ink);
  font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }
code, pre, .mono { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 12px; }
h1 { display: flex; align-items: flex-start; gap: 16px; margin: 0; font-size: 19px; line-height: 1.35; font-weight: 500; }
h1 .sentence { padding-top: 3px; overflow-wrap: anywhere; }
h2 { margin: 30px 0 10px; font-size: 15px; font-weight: 650; }
h3 { margin: 0 0 6px; font-size: 11.5px; font-weight: 650; letter-spacing: 0.05em; text-transform: uppercase; color: var(--soft); }
p { margin: 0 0 8px; }
.badge { flex: none; display: inline-flex; align-items: center; gap: 8px; padding: 4px 14px 4px 10px; border-radius: 6px;
  font-size: 17px; font-weight: 700; letter-spacing: 0.04em; color: var(--tone); border: 2px solid var(--tone); }
.badge svg { stroke: var(--tone); fill: none; stroke-width: 2.4; stroke-linecap: round; stroke-linejoin: round; }
.valid { --tone: var(--good); } .invalid { --tone: var(--bad); } .failed { --tone: var(--bad); }
.unknown { --tone: var(--doubt); } .interrupted { --tone: var(--doubt); }
.blocked { --tone: var(--stuck); } .vacuous { --tone: var(--void); }
.scope { display: flex; flex-wrap: wrap; gap: 3px 18px; margin: 12px 0 14px; padding: 0 0 12px; border-bottom: 1px solid var(--line);
  font-size: 12.5px; }
.scope div { display: flex; gap: 6px; } .scope dt { color: var(--faint); } .scope dd { margin: 0; overflow-wrap: anywhere; }
.expectation { margin: 10px 0 0; font-weight: 600; }
.first { display: grid; grid-template-columns: minmax(0, 1fr) 344px; gap: 24px; align-items: start; }
figure { margin: 0; } figure svg { display: block; width: 100%; height: auto; }
figcaption { margin: 0 0 8px; color: var(--soft); font-size: 12.5px; }
.story { margin: 10px 0 0; padding-left: 20px; } .story li { margin: 0 0 3px; }
.nothing { padding: 60px 20px; border: 1px dashed var(--line); border-radius: 8px; text-align: center; color: var(--soft); }
aside { display: grid; gap: 14px; }
.card { padding: 11px 14px 10px; background: var(--panel); border: 1px solid var(--line); border-radius: 8px; font-size: 13px;
  overflow-wrap: anywhere; }
.card ul { margin: 0; padding-left: 16px; } .card li { margin: 0 0 4px; } .card li:last-child { margin: 0; }
.card.rerun code { display: block; padding: 7px 9px; background: var(--paper); border: 1px solid var(--line); border-radius: 5px; user-select: all; }
.logs { max-height: 330px; overflow: auto; }
.logs h4 { margin: 8px 0 2px; font-size: 12px; } .logs h4:first-child { margin-top: 0; }
.logs ol { margin: 0; padding: 0; list-style: none; }
.logs li { display: flex; gap: 8px; font-size: 11.5px; line-height: 1.4; }
.logs time { flex: none; width: 62px; text-align: right; color: var(--faint); font-variant-numeric: tabular-nums; }
.logs span { overflow-wrap: anywhere; white-space: pre-wrap; }
.tree details, .tree .leaf { margin: 0 0 0 18px; border-left: 1px solid var(--line); padding: 1px 0 1px 10px; }
.tree .root { margin-left: 0; border-left: 0; padding-left: 0; }
.tree summary, .tree .leaf { overflow-wrap: anywhere; } .tree summary { cursor: pointer; }
.tree .leaf { padding-left: 27px; }
.word { display: inline-block; min-width: 1.4em; font-weight: 650; color: var(--tone); }
.name { font-weight: 600; }
.reason { color: var(--soft); }
.detail { margin: 2px 0 4px 18px; color: var(--soft); font-size: 12.5px; overflow-wrap: anywhere; }
.count { display: inline-block; margin: 1px 5px 1px 0; padding: 0 7px; border: 1px solid var(--line); border-radius: 9px; background: var(--panel); }
.plot { margin: 0 0 18px; } .plot figcaption { margin: 0 0 2px; font-weight: 600; color: var(--ink); font-size: 13px; }
.plot figcaption span { font-weight: 400; color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 12.5px; }
th { padding: 3px 12px 3px 0; text-align: left; font-weight: 600; color: var(--soft); border-bottom: 1px solid var(--line); white-space: nowrap; }
td { padding: 2px 12px 2px 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.hit td { background: color-mix(in srgb, var(--info) 18%, transparent); font-weight: 600; }
tr.gap td { color: var(--faint); text-align: center; }
.tables { display: flex; flex-wrap: wrap; gap: 12px 56px; align-items: flex-start; }
.settings { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 8px 40px; }
.settings td:first-child { color: var(--faint); white-space: nowrap; }
footer { margin-top: 34px; padding-top: 10px; border-top: 1px solid var(--line); color: var(--faint); font-size: 12px; }

svg text { font: 11px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; fill: var(--ink); }
svg .end { text-anchor: end; } svg .mid { text-anchor: middle; }
svg .tick, svg .legend { fill: var(--soft); font-size: 10.5px; } svg .strong { font-weight: 650; }
svg .operation { font-size: 12px; font-weight: 600; }
svg .in-bar { fill: #ffffff; font-size: 10px; font-weight: 600; }
svg .in-bar.on-pause, svg .in-bar.on-partition { fill: #1b2128; }
.definitions { position: absolute; }
.grid { stroke: var(--line); } .base { stroke: var(--faint); } .guide { stroke: var(--line); stroke-dasharray: 2 2; }
.phase { stroke: var(--faint); stroke-dasharray: 1 3; }
.lane { fill: var(--panel); stroke: var(--paper); stroke-width: 2; } .lane.context { fill: none; }
.none { fill: none; }
.o-ok { fill: color-mix(in srgb, var(--ok) 30%, var(--paper)); stroke: var(--ok); stroke-width: 1.5; }
.o-fail { fill: var(--paper); stroke: var(--fail); stroke-width: 1.5; stroke-dasharray: 3 2; }
.o-info { fill: url(#hatch-info); stroke: var(--info); stroke-width: 1.5; }
.faint { opacity: 0.6; stroke-width: 1; }
.open { stroke: var(--info); stroke-width: 2; stroke-dasharray: 5 4; }
.arrow { fill: none; stroke: var(--soft); stroke-width: 1.3; marker-end: url(#arrow); } .arrow-head { fill: var(--soft); }
.step { fill: var(--panel); stroke: var(--soft); } .step.start { stroke-dasharray: 3 2; }
.breaks, .step.breaks { fill: none; stroke: var(--bad); stroke-width: 2; stroke-dasharray: none; }
.cross { fill: none; stroke: var(--bad); stroke-width: 2.4; stroke-linecap: round; } svg .bad { fill: var(--bad); font-weight: 600; }
.state { fill: color-mix(in srgb, var(--leader) 16%, var(--paper)); stroke: var(--leader); }
.plate { fill: var(--paper); stroke: var(--line); }
.r-leader { fill: var(--leader); } .r-follower { fill: var(--follower); } .r-other { fill: var(--faint); opacity: 0.5; }
.r-candidate { fill: var(--paper); stroke: var(--candidate); stroke-width: 1.5; }
.r-down { fill: var(--paper); stroke: var(--down); stroke-width: 1; stroke-dasharray: 2 2; }
path.s-ok, path.s-fail, path.s-info, .raster { shape-rendering: crispEdges; }
.s-ok { fill: var(--ok); } .s-fail { fill: var(--fail); } .s-info { fill: var(--info); }
.f-partition { fill: var(--partition); } .f-pause { fill: var(--pause); } .f-kill { fill: var(--kill); } .f-delay { fill: var(--delay); } .f-other { fill: var(--other); }
.f-starve { fill: var(--starve); } .f-memory { fill: var(--memory); } .f-clock { fill: var(--clock); }
.tint { opacity: 0.16; } .pale { opacity: 0.4; }
.x-partition { fill: url(#hatch-partition); } .x-pause { fill: url(#hatch-pause); }
.x-kill { fill: url(#hatch-kill); } .x-delay { fill: url(#hatch-delay); } .x-other { fill: url(#hatch-other); }
.x-starve { fill: url(#hatch-starve); } .x-memory { fill: url(#hatch-memory); } .x-clock { fill: url(#hatch-clock); }
.h-partition { stroke: var(--partition); } .h-pause { stroke: var(--pause); } .h-kill { stroke: var(--kill); }
.h-delay { stroke: var(--delay); } .h-other { stroke: var(--other); }
.h-starve { stroke: var(--starve); } .h-memory { stroke: var(--memory); } .h-clock { stroke: var(--clock); fill: none; } .h-info { stroke: var(--info); stroke-width: 1.5; }
.h-partition, .h-pause, .h-kill, .h-delay, .h-starve, .h-memory, .h-clock, .h-other { stroke-width: 0.9; opacity: 0.75; }
.stall { fill: var(--ink); opacity: 0.14; }
.mark { fill: var(--bad); stroke: var(--paper); }
.witness-mark { fill: none; stroke: var(--bad); stroke-width: 1.5; }
.raster { fill: var(--leader); } .shade-1 { opacity: 0.12; } .shade-2 { opacity: 0.22; } .shade-3 { opacity: 0.36; }
.shade-4 { opacity: 0.52; } .shade-5 { opacity: 0.75; }
.q { fill: none; stroke: var(--ink); stroke-width: 1.4; } .q95 { stroke-dasharray: 5 3; } .q99 { stroke-dasharray: 1.5 2.5; }

@media (max-width: 960px) { .first, .settings { grid-template-columns: minmax(0, 1fr); } }
@media print {
  :root { --paper: #ffffff; --panel: #f6f7f9; --line: #d5dade; --ink: #000000; --soft: #333a41; --faint: #545d66; }
  body { padding: 0; font-size: 11px; -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  .first { display: block; }
  aside { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); margin-top: 14px; }
  .logs { max-height: none; }
  figure, .card, tr { break-inside: avoid; } h2, h3, h4 { break-after: avoid; }
  details:not(.fold)::details-content { content-visibility: visible; display: block; }
}
)css";

}  // namespace

std::string_view html_style() { return kStyle; }

}  // namespace assay::report
