// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// Holds what answers without a network to the deadline of its request, as a transport of the network does.
///
/// What ignores its cancellation is left alone when the deadline passes. When the task is cancelled, the operation is,
/// and is waited for.
///
/// - Throws: what the operation throws; stage `timeout` with the request's own code.
package func withinDeadline<Value: Sendable>(
  of request: TransferRequest, _ time: TimeSource,
  _ operation: @escaping @Sendable () async throws(TransportError) -> Value
) async throws(TransportError) -> Value {
  guard let deadline = request.deadline else { return try await operation() }
  let outcome = OneAnswer<Result<Value, TransportError>>()
  let wait = await interruptible(within: max(.zero, deadline), time: time) {
    do throws(TransportError) { outcome.give(.success(try await operation())) } catch { outcome.give(.failure(error)) }
  }
  if case .failure(.limit) = wait {
    throw .deadlinePassed(
      request.deadlineCode, of: request.wholeTimeout ?? deadline, "while waiting for the response", requestSent: true)
  }
  return try await outcome.value().get()
}

extension TransportError {
  /// The end of the time for an attempt, or for the call.
  package static func deadlinePassed(
    _ code: FailureCode, of timeout: Duration?, _ place: String, requestSent: Bool
  ) -> Self {
    let name = code == .totalTimeout ? "total" : "attempt"
    return Self(
      stage: .timeout, code: code,
      message: "the \(name) timeout\(timeout.map { " of \($0.brief)" } ?? "") passed \(place)",
      hint: "raise Timeouts.\(name), or find what made it wait", requestSent: requestSent)
  }
}
