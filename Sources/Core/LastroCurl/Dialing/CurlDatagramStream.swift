// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// The user's end of a datagram stream.
final class CurlDatagramStream: DatagramStream {
  let facts: StreamFacts
  let maximumDatagramBytes: Int
  private let client: StreamClient

  init(_ facts: StreamFacts, maximumDatagramBytes: Int, _ client: StreamClient) {
    self.facts = facts
    self.maximumDatagramBytes = maximumDatagramBytes
    self.client = client
  }

  deinit { close() }

  func receive(within limit: Duration?) async throws(TransportError) -> Data {
    try await client.read(upTo: .max, within: limit) ?? Data()
  }

  func send(_ datagram: Data, within limit: Duration?) async throws(TransportError) {
    guard datagram.count <= maximumDatagramBytes else {
      throw .refused(
        .invalidOption, "the datagram has \(datagram.count) bytes, above the maximum of \(maximumDatagramBytes)",
        hint: "send it in parts")
    }
    try client.check()
    let write = StreamWrite(client.id, datagram, within: limit)
    try client.post(.write(write))
    try await write.answer.value { write.answer.offer(.failure(.cancelled())) }.get()
  }

  func close() { client.close() }
}
