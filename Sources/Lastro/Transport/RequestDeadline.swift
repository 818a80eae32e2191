// SPDX-License-Identifier: Apache-2.0

/// Holds what answers without a network to the deadline of its request, as a transport of the network does.
///
/// What does not heed cancellation is left alone when the deadline passes. When the task is cancelled, the operation is, and
/// is waited for.
///
/// - Throws: what the operation throws; stage `timeout` with the request's own code.
package func withinDeadline<Value: Sendable>(
  of request: TransferRequest, _ time: TimeSource,
  _ operation: @escaping @Sendable () async throws(TransportError) -> Value
) async throws(TransportError) -> Value {
  guard let deadline = request.deadline else { return try await operation() }
  // Some thirty years at most: a clock may trap on more.
  let end = time.now() + min(deadline, .seconds(1_000_000_000))
  typealias Outcome = Result<Value, TransportError>
  let (outcomes, first) = AsyncStream.makeStream(of: Outcome.self, bufferingPolicy: .bufferingOldest(1))
  let work = Task { () -> Outcome in
    let outcome: Outcome
    do throws(TransportError) { outcome = .success(try await operation()) } catch { outcome = .failure(error) }
    first.yield(outcome)
    return outcome
  }
  let timer = Task {
    do { try await time.limit(end - time.now()) } catch { return }
    first.yield(
      .failure(
        TransportError(
          stage: .timeout, code: request.deadlineCode, message: "no answer came within \(deadline)",
          requestSent: true)))
  }
  defer { timer.cancel() }
  for await outcome in outcomes {
    work.cancel()
    return try outcome.get()
  }
  // Waiting was cancelled.
  work.cancel()
  return try await work.value.get()
}
