// SPDX-License-Identifier: Apache-2.0

package import LastroHTTP

/// The surroundings of a ``MemoryLink``: its clock, and the reactor that reports its readiness.
package protocol MemoryLinkHost: AnyObject {
  var reactor: MemoryReactor { get }
  /// The time in nanoseconds.
  var now: Int64 { get }

  /// Performs an action at a later time. Actions of the same time are performed in the order of the calls.
  func after(_ delay: Duration, _ body: @escaping () -> Void)

  /// Called when the near end has closed a link.
  func linkClosed(_ link: MemoryLink)
}

/// The path of the bytes of a ``MemoryLink``, which decides when they arrive.
package protocol MemoryPath: AnyObject {
  /// Delivers bytes, in the order of the calls for one direction.
  ///
  /// - Parameters:
  ///   - count: the number of bytes; 0 for the end of a direction.
  ///   - toPeer: the direction.
  ///   - arrive: called when they have arrived; never, if they are lost with the connection.
  func carry(_ count: Int, toPeer: Bool, _ arrive: @escaping () -> Void)
}
