// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A line chart over seconds, as SVG.
struct Plot {
  var name: String
  var unit: String
  var series: [(name: String, values: [Double])]

  private static let colors = ["#b0413e", "#d98e04", "#3a7d44", "#2660a4", "#6b4c9a"]
  private static let (width, height, left, top) = (720.0, 260.0, 56.0, 16.0)

  var svg: String {
    let most = Self.end(of: series.flatMap(\.values).max() ?? 1)
    let length = Self.end(of: Double(series.map(\.values.count).max() ?? 1))
    let below = Self.top + Self.height
    var parts = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"\(Int(below) + 40 + 18 * series.count)\" "
        + "font-family=\"sans-serif\" font-size=\"12\">",
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>",
    ]
    for step in 0...4 {
      let share = Double(step) / 4
      let (x, y) = (Self.left + share * Self.width, below - share * Self.height)
      parts.append(Self.line("M\(Self.left) \(y)H\(Self.left + Self.width)", "#ddd"))
      parts.append("<text x=\"\(Self.left - 6)\" y=\"\(y + 4)\" text-anchor=\"end\">\(Int(share * most))</text>")
      parts.append("<text x=\"\(x)\" y=\"\(below + 16)\" text-anchor=\"middle\">\(Int(share * length)) s</text>")
    }
    parts.append("<text x=\"\(Self.left + 6)\" y=\"\(Self.top + 12)\">\(unit)</text>")
    for (index, (name, values)) in series.enumerated() {
      let color = Self.colors[index % Self.colors.count]
      let points = values.enumerated().map { second, value in
        String(
          format: "%.1f %.1f", Self.left + Double(second) / length * Self.width, below - value / most * Self.height)
      }
      parts.append(Self.line("M" + points.joined(separator: "L"), color))
      let y = below + 38 + 18 * Double(index)
      parts.append(Self.line("M\(Self.left) \(y - 4)h24", color))
      parts.append("<text x=\"\(Self.left + 32)\" y=\"\(y)\">\(name)</text>")
    }
    return (parts + ["</svg>"]).joined(separator: "\n") + "\n"
  }

  /// Returns the end of an axis that has four round steps and reaches at least `most`.
  private static func end(of most: Double) -> Double {
    let powers: [Double] = [1, 10, 100, 1_000, 10_000, 100_000]
    let steps: [Double] = powers.flatMap { power in [1, 2, 2.5, 5].map { (factor: Double) in factor * power } }
      .filter { $0.truncatingRemainder(dividingBy: 1) == 0 }
    return 4 * (steps.first { 4 * $0 >= most } ?? most / 4)
  }

  private static func line(_ path: String, _ color: String) -> String {
    "<path d=\"\(path)\" fill=\"none\" stroke=\"\(color)\" stroke-width=\"1.5\"/>"
  }
}
