// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// Applies the deadline of a request to an operation that responds without a network, as a network transport does.
///
/// If the deadline passes, the operation is cancelled and not waited for. If the task is cancelled, the operation is
/// cancelled too, and is waited for.
///
/// - Throws: the errors of the operation; stage `timeout` with the request's own code, if the deadline passes.
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
  /// Returns the error for an attempt or a call whose deadline has passed.
  package static func deadlinePassed(
    _ code: FailureCode, of timeout: Duration?, _ place: String, requestSent: Bool
  ) -> Self {
    let name = code == .totalTimeout ? "total" : "attempt"
    return Self(
      stage: .timeout, code: code,
      message: "the \(name) timeout\(timeout.map { " of \($0.brief)" } ?? "") passed \(place)",
      hint: "raise Timeouts.\(name), or find the cause of the delay", requestSent: requestSent)
  }
}
