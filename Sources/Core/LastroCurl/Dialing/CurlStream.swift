// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// The user's end of a stream that a loop runs.
final class CurlStream: LoopStream {
  let runsOnLoops = true
  let facts: StreamFacts
  private let client: StreamClient

  init(_ facts: StreamFacts, _ client: StreamClient) {
    self.facts = facts
    self.client = client
  }

  deinit { close() }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    guard maximum > 0 else {
      throw .emptyRead(maximum)
    }
    return try await client.read(upTo: maximum, within: limit)
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try client.check()
    if data.isEmpty { return }
    try await perform(StreamWrite(client.id, data, within: limit))
  }

  func finishWriting(within limit: Duration?) async throws(TransportError) {
    try client.check()
    try await perform(StreamWrite(client.id, nil, within: limit))
  }

  func close() { client.close() }

  private func perform(_ write: StreamWrite) async throws(TransportError) {
    try client.post(.write(write))
    let outcome = await write.answer.value {
      if write.answer.offer(.failure(.cancelled(requestSent: true))) { close() }
    }
    try outcome.get()
  }
}

extension Duration? {
  /// The time at which the limit expires, in nanoseconds of ``monotonicNow()``.
  var expiry: Int64 { map { monotonicNow().adding($0) } ?? .max }
}
