// SPDX-License-Identifier: Apache-2.0

/// A stream implemented by Lastro, whose functions never block, so that an event loop may call them.
package protocol LoopStream: ByteStream {
  /// Whether its reads and writes may run on the thread of an event loop. This requires the same of any stream below.
  var runsOnLoops: Bool { get }
}
