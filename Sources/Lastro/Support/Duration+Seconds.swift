// SPDX-License-Identifier: Apache-2.0

extension Duration {
  /// As a number of seconds, to a double's precision.
  package var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }

  /// As a number of seconds, to the microsecond: the shortest number to write, where no clock measures more finely.
  package var inRoundedSeconds: Double { (inSeconds * 1e6).rounded() / 1e6 }
}
