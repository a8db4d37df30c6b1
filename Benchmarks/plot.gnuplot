# Costs by Larder's cost: 1 is Larder, above it a peer costs more. `data`, `output`, `columns` and `machine` are given.
set terminal pngcairo size 1400,640 font "sans,11" background "white"
set output output
set datafile separator "\t"
set datafile missing "?"
set title "Cost of the same work, Larder = 1 (lower is better; log scale)\n".machine noenhanced
set style data histograms
set style histogram clustered gap 1.5
set style fill solid 0.9 noborder
set boxwidth 0.95
set logscale y 2
set yrange [0.125:*]
set grid ytics lc rgb "#dddddd"
set key outside bottom center horizontal
set xtics rotate by -8 noenhanced
set arrow from graph 0, first 1 to graph 1, first 1 nohead lc rgb "#1b6ca8" dashtype 2
set ylabel "cost ÷ Larder's cost"
array colours[6] = ["#1b6ca8", "#4caf50", "#e07b39", "#8e6bbf", "#c94f5d", "#999999"]
plot for [column=2:columns] data using column:xtic(1) title columnheader(column) lc rgb colours[column - 1]
