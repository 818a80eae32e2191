// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import GRPCCore
internal import HTTPTypes
internal import Lastro
internal import Synchronization

/// A call: the pipe of its request, and the exchange that carries it.
final class GRPCCall: Sendable {
  private struct State {
    var exchange: Task<Fetched<ResponseBody, ResourceResponse>, any Error>?
    var body: ResponseBody?
    var response: ResourceResponse?
    /// The first reason why the call was ended on this side.
    var failure: RPCError?
    /// Whether the response was read to its end.
    var isOver = false
  }

  /// The default limit of a received message: 4 MiB, as in other implementations of gRPC.
  private static let defaultMaximum = 4 << 20
  let pipe: RequestPipe
  let maximumResponseBytes: Int
  private let descriptor: MethodDescriptor
  private let options: CallOptions
  private let maker: RequestMaker
  private let isWhole: Bool
  private let state = Mutex(State())

  init(_ descriptor: MethodDescriptor, _ options: CallOptions, _ maker: RequestMaker) {
    self.descriptor = descriptor
    self.options = options
    self.maker = maker
    // The only message of a request is sent as bytes in memory: the stack can then repeat it.
    isWhole = descriptor.type.map { !$0.isRequestStreaming } ?? false
    pipe = RequestPipe(isWhole: isWhole)
    maximumResponseBytes = max(0, options.maxResponseMessageBytes ?? Self.defaultMaximum)
  }

  /// Throws an error if a message of the request is too large. Its prefix has 32 bits for its length.
  func checkRequest(_ count: Int) throws {
    guard count > min(options.maxRequestMessageBytes ?? .max, Int(UInt32.max)) else { return }
    throw RPCError(code: .resourceExhausted, message: "the request's message of \(count) bytes exceeds the limit")
  }

  /// Sends the request, and returns the response once its head has arrived.
  func open() async throws -> Fetched<ResponseBody, ResourceResponse> {
    let metadata = try await pipe.metadata()
    let body: RequestBody =
      isWhole
      ? .raw(try await pipe.whole())
      : .stream(RequestPipe.Chunks(pipe: pipe))
    let request = try maker.request(descriptor, metadata, body, timeout: options.timeout)
    let exchange = Task { [maker] in try await maker.exchange(request, true) }
    let isEnded = state.withLock { state in
      state.exchange = exchange
      return state.failure != nil || state.isOver
    }
    if isEnded { exchange.cancel() }
    let answer = try await withTaskCancellationHandler {
      try await exchange.value
    } onCancel: {
      exchange.cancel()
    }
    let isLate = state.withLock { state in
      state.body = answer.value
      state.response = answer.response
      return state.failure != nil || state.isOver
    }
    if isLate { answer.value.cancel() }
    return answer
  }

  /// Ends the call on this side, for a reason that its reader gets.
  func fail(_ error: RPCError) {
    let (exchange, body) = state.withLock { state in
      if state.failure == nil, !state.isOver { state.failure = error }
      return state.isOver ? (nil, nil) : (state.exchange, state.body)
    }
    exchange?.cancel()
    body?.cancel()
    pipe.close()
  }

  /// Records that the response was read to its end.
  func markOver() {
    state.withLock { $0.isOver = true }
    pipe.close()
  }

  /// Ends the call, whatever is left of it.
  func close() { fail(RPCError(code: .cancelled, message: "the call was left before it had ended")) }

  /// Returns the error of the call for an error of its exchange, and ends it.
  func failed(_ error: any Error) -> RPCError {
    let (failure, response) = state.withLock { ($0.failure, $0.response) }
    var result = failure ?? (error as? RPCError) ?? RPCError(ofExchange: error)
    if !(result.cause is LastroCallFailure) {
      result.attach(LastroCallFailure(ending: response, with: error is RPCError ? nil : error))
    }
    fail(result)
    return result
  }
}
