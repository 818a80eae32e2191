// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The flags of curl that request what Lastro always does, and `-k`.
struct AcceptedFlags: ParsableArguments {
  static let help =
    "Accepted without effect, because Lastro always does this: -L, --compressed, --fail-with-body, --retry-connrefused, "
    + "--remove-on-error, --tcp-nodelay, --path-as-is, -N, -g, -q, -#."

  /// The number of flags without effect.
  @Flag(
    name: [
      .customShort("L"), .customLong("location"), .customLong("compressed"), .customLong("fail-with-body"),
      .customLong("retry-connrefused"), .customLong("remove-on-error"), .customLong("tcp-nodelay"),
      .customLong("path-as-is"), .customShort("N"), .customLong("no-buffer"), .customShort("g"), .customLong("globoff"),
      .customShort("q"), .customLong("disable"), .customShort("#"), .customLong("progress-bar"),
    ], help: .hidden)
  var ignored: Int
  @Flag(
    name: [.customShort("k"), .customLong("insecure")],
    help: "Accept any certificate of localhost, and of loopback, private and link-local addresses; of no other host.")
  var insecure = false
}
