// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
internal import Lastro
internal import OpenAPIRuntime

extension HTTPBody {
  /// The body as a request sends it.
  var requestBody: RequestBody {
    let length: Int64? = if case .known(let count) = length { Int64(count) } else { nil }
    let isReplayable = if case .multiple = iterationBehavior { true } else { false }
    return .stream(map { Data($0) }, length: length, isReplayable: isReplayable)
  }

  /// Creates the body of a response, which can be read once; `nil` if no body may follow the head.
  convenience init?(_ answer: Fetched<ResponseBody, ResourceResponse>, to method: HTTPRequest.Method) {
    let head = answer.response.head
    guard method != .head, head.status.code != 204, head.status.code != 304 else { return nil }
    // A decoded body is longer than the bytes that were sent.
    let isCoded = head.headerFields[.contentEncoding] != nil
    let announced = isCoded ? nil : head.headerFields[.contentLength].flatMap { Int64($0) }
    self.init(
      Slices(body: answer.value), length: announced.map { .known($0) } ?? .unknown, iterationBehavior: .single)
  }
}

/// The chunks of a body as the runtime takes them.
private struct Slices: AsyncSequence, Sendable {
  let body: ResponseBody

  struct AsyncIterator: AsyncIteratorProtocol {
    var chunks: ResponseBody.AsyncIterator

    mutating func next() async throws -> ArraySlice<UInt8>? { try await chunks.next().map { ArraySlice($0) } }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: body.makeAsyncIterator()) }
}
