// SPDX-License-Identifier: Apache-2.0

import CLoopback
internal import Glibc

/// A thread of a loopback server, to be joined or detached once.
struct LoopbackThread: Sendable {
  /// The size suffices for OpenSSL and a JSON encoder under a sanitizer; only touched pages use memory.
  private static let stackSize = 512 * 1024

  private let thread: pthread_t

  /// Starts a thread for a server; `nil` if the system starts no more.
  init?(of server: AnyObject, _ body: @escaping @Sendable () -> Void) {
    final class Box {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let box = Unmanaged.passRetained(Box(body))
    var thread = pthread_t()
    let hasStarted = cloopback_thread_start(
      &thread, Self.stackSize, Self.tag(of: server), { Unmanaged<Box>.fromOpaque($0).takeRetainedValue().body() },
      box.toOpaque())
    guard hasStarted else {
      box.release()
      return nil
    }
    self.thread = thread
  }

  func join() { pthread_join(thread, nil) }

  func detach() { pthread_detach(thread) }

  /// Whether the calling thread is one of the server's.
  static func isCurrent(of server: AnyObject) -> Bool { cloopback_thread_tag() == tag(of: server) }

  private static func tag(of server: AnyObject) -> UnsafeRawPointer {
    UnsafeRawPointer(Unmanaged.passUnretained(server).toOpaque())
  }
}
