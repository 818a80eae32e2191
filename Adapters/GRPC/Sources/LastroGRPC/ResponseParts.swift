// SPDX-License-Identifier: Apache-2.0

internal import GRPCCore
internal import HTTPTypes
internal import Lastro

/// The parts of a call's response. Reading the first sends the request.
struct ResponseParts: AsyncSequence, Sendable {
  typealias Element = RPCResponsePart<[UInt8]>
  typealias Failure = any Error

  let call: GRPCCall

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(call: call) }

  struct AsyncIterator: AsyncIteratorProtocol {
    private enum Stage {
      case unsent
      case body(ResponseBody, ResponseBody.AsyncIterator)
      case over
    }

    private let call: GRPCCall
    private var stage = Stage.unsent
    private var messages: MessageReader

    init(call: GRPCCall) {
      self.call = call
      messages = MessageReader(maximumBytes: call.maximumResponseBytes)
    }

    mutating func next() async throws -> Element? { try await next(isolation: nil) }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
      do {
        switch stage {
        case .unsent: return try head(of: try await call.open())
        case .body(let body, let chunks): return try await part(of: body, chunks, isolation: actor)
        case .over: return nil
        }
      } catch {
        stage = .over
        throw call.failed(error)
      }
    }

    private mutating func head(of answer: Fetched<ResponseBody, ResourceResponse>) throws -> Element {
      let head = answer.response.head
      // The server may have acted on the call, so the code is none that is repeated.
      if let version = answer.response.facts.httpVersion, !version.hasPrefix("2") {
        throw RPCError(
          code: .failedPrecondition,
          message: "the server was called over HTTP/\(version), and gRPC needs HTTP/2: for http, set the engine's "
            + "connection.httpVersion to .http2")
      }
      // A response may consist of its end alone (Trailers-Only).
      if head.headerFields[.grpcStatus] != nil { return try end(head.headerFields) }
      guard head.status.code == 200 else { throw RPCError(httpStatus: head.status.code) }
      let type = head.headerFields[.contentType] ?? ""
      guard type.isGRPC else {
        throw RPCError(
          code: .unknown, message: "the response is no gRPC: its content-type is \(String(reflecting: type.prefix(60)))"
        )
      }
      if let coding = head.headerFields[.grpcEncoding], coding != "identity" {
        throw RPCError(
          code: .internalError,
          message: "the server compresses with \(String(reflecting: coding.prefix(60))), which was not offered")
      }
      stage = .body(answer.value, answer.value.makeAsyncIterator())
      return .metadata(Metadata(head.headerFields))
    }

    private mutating func part(
      of body: ResponseBody, _ iterator: ResponseBody.AsyncIterator, isolation actor: isolated (any Actor)?
    ) async throws -> Element {
      var chunks = iterator
      while true {
        if let message = try messages.next() {
          stage = .body(body, chunks)
          return .message(message)
        }
        if let chunk = try await chunks.next(isolation: actor) {
          messages.append(chunk)
          continue
        }
        let trailers = body.finalFacts?.trailers ?? [:]
        // A server that failed within a message says why.
        if trailers[.grpcStatus] ?? "0" == "0" { try messages.checkEnd() }
        return try end(trailers)
      }
    }

    /// Returns the status that ended the call.
    ///
    /// - Throws: `RPCError` if it is not OK. As a part, it could not have a cause.
    private mutating func end(_ fields: HTTPFields) throws -> Element {
      let status = try Status(fields)
      let metadata = Metadata(fields)
      if let error = RPCError(status: status, metadata: metadata) { throw error }
      stage = .over
      call.markOver()
      return .status(status, metadata)
    }
  }
}

extension String {
  /// Whether a content type is that of gRPC, perhaps with a format or parameters. `application/grpc-web` is another
  /// protocol.
  fileprivate var isGRPC: Bool {
    let name = "application/grpc", type = lowercased()
    guard type.hasPrefix(name) else { return false }
    return type.dropFirst(name.count).first.map { "+; ".contains($0) } ?? true
  }
}
