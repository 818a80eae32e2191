// SPDX-License-Identifier: Apache-2.0

/// A stream of our own, whose functions never block, so that an event loop may call them.
package protocol LoopStream: ByteStream {
  /// Whether its reads and writes may run on the thread of an event loop: so do those of the stream below, if any.
  var runsOnLoops: Bool { get }
}
