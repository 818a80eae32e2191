// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LastroSupport

/// The result of installing a handler for `SIGUSR2` that does nothing. It lacks `SA_RESTART`, so that the signal
/// interrupts system calls.
private let handlerCode: Int32 = {
  var action = sigaction()
  action.__sigaction_handler = .init(sa_handler: { _ in })
  return sigaction(SIGUSR2, &action, nil)
}()

/// Runs a blocking call on a thread of its own, and interrupts it with signals until it may end.
///
/// - Parameters:
///   - call: the call, which blocks until `release` is called.
///   - release: lets the call end. It is called after the last signal.
/// - Returns: the result of the call.
package func interrupting<Value: Sendable>(
  _ call: @escaping @Sendable () throws -> Value, release: () throws -> Void
) async throws -> Value {
  guard handlerCode == 0 else { throw TestFailure("SIGUSR2 has no handler") }
  let thread = OneAnswer<pthread_t>()
  let answer = OneAnswer<Result<Value, any Error>>()
  let ending = DispatchSemaphore(value: 0)
  // The thread must exist while it is sent signals.
  defer { ending.signal() }
  Thread.detachNewThread {
    thread.give(pthread_self())
    answer.give(Result { try call() })
    ending.wait()
  }
  let number = await thread.value()
  for _ in 0..<40 where !answer.isGiven {
    pthread_kill(number, SIGUSR2)
    try await Task.sleep(for: .milliseconds(5))
  }
  try release()
  return try await answer.value().get()
}
