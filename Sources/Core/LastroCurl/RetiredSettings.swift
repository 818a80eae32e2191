// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Logging

/// Environment settings of earlier versions.
enum RetiredSettings {
  /// Logs a warning, once per process, if `LASTRO_CARRIER` is set: an operator who set it expects it to work.
  static func report() { _ = reported }

  private static let reported: Void = {
    guard let value = getenv("LASTRO_CARRIER") else { return }
    Logger(label: "lastro.engine").warning(
      "LASTRO_CARRIER is ignored: Lastro has one HTTP engine; unset the variable",
      metadata: ["value": "\(String(cString: value).prefix(40))"])
  }()
}
