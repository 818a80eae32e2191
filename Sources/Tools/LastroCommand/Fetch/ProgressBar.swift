// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// A progress bar on standard error, shown if that is a terminal and the transfer takes long enough.
struct ProgressBar {
  private static let patience = Duration.milliseconds(700)
  private static let interval = Duration.milliseconds(100)

  private let total: Int64?
  private let isEnabled: Bool
  private let start = ContinuousClock.now
  private var drawnAt: ContinuousClock.Instant?

  init(total: Int64?, isEnabled: Bool) {
    self.total = total
    self.isEnabled = isEnabled
  }

  mutating func update(_ count: Int64) {
    guard isEnabled else { return }
    let now = ContinuousClock.now
    guard now - start > Self.patience, drawnAt.map({ now - $0 > Self.interval }) ?? true else { return }
    drawnAt = now
    draw(count, elapsed: now - start)
  }

  func erase() {
    guard drawnAt != nil else { return }
    try? ResponseOutput.writeAll(Data("\r\u{1B}[K".utf8), to: STDERR_FILENO)
  }

  private func draw(_ count: Int64, elapsed: Duration) {
    let rate = Int64(Double(count) / max(elapsed / .seconds(1), 0.001))
    var text = "\r\u{1B}[K"
    if let total, total > 0 {
      let share = min(1, Double(count) / Double(total))
      let filled = Int(share * 30)
      text += "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: 30 - filled) + "] "
      text += "\(Int(share * 100)) %  "
    }
    text += "\(Self.size(count))  \(Self.size(rate))/s"
    try? ResponseOutput.writeAll(Data(text.utf8), to: STDERR_FILENO)
  }

  private static func size(_ bytes: Int64) -> String {
    var value = Double(bytes)
    for unit in ["B", "KiB", "MiB", "GiB"] {
      if value < 1024 { return "\((value * 10).rounded() / 10) \(unit)" }
      value /= 1024
    }
    return "\((value * 10).rounded() / 10) TiB"
  }
}
