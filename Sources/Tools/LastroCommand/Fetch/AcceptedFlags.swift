// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The flags of curl that request what Lastro always does, and `-k`.
struct AcceptedFlags: ParsableArguments {
  static let help =
    "Accepted without effect, because Lastro always does this: -L, --compressed, --fail-with-body, --retry-connrefused, "
    + "--remove-on-error, --tcp-nodelay, --path-as-is, -N, -g, -q, -#."

  @Flag(name: [.customShort("L"), .customLong("location")], help: .hidden)
  var location = false
  @Flag(name: .customLong("compressed"), help: .hidden)
  var compressed = false
  @Flag(name: .customLong("fail-with-body"), help: .hidden)
  var failWithBody = false
  @Flag(name: .customLong("retry-connrefused"), help: .hidden)
  var retryConnectionRefused = false
  @Flag(name: .customLong("remove-on-error"), help: .hidden)
  var removeOnError = false
  @Flag(name: .customLong("tcp-nodelay"), help: .hidden)
  var tcpNoDelay = false
  @Flag(name: .customLong("path-as-is"), help: .hidden)
  var pathAsIs = false
  @Flag(name: [.customShort("N"), .customLong("no-buffer")], help: .hidden)
  var noBuffer = false
  @Flag(name: [.customShort("g"), .customLong("globoff")], help: .hidden)
  var globOff = false
  @Flag(name: [.customShort("q"), .customLong("disable")], help: .hidden)
  var disable = false
  @Flag(name: [.customShort("#"), .customLong("progress-bar")], help: .hidden)
  var progressBar = false
  @Flag(
    name: [.customShort("k"), .customLong("insecure")],
    help: "Accept any certificate of localhost, and of loopback, private and link-local addresses; of no other host.")
  var insecure = false
}
