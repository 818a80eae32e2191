// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroWire
import Testing

@testable import LastroHTTP

@Suite("Heads and trailers that are too large")
struct TrailerLimitTests {
  @Test("Heads and trailers larger than HTTP/2 allows are refused before they are sent")
  func tooLarge() throws {
    let value = String(repeating: "v", count: HTTP2Fields.maximumBytes)
    var request = TransferRequest(head: HTTPRequest(method: .get, scheme: "https", authority: "a", path: "/"))
    request.head.headerFields[HTTPField.Name("Large")!] = value
    let refusals = [
      #expect(throws: TransportError.self) {
        _ = try HTTP2Fields(request, .none)
      },
      #expect(throws: TransportError.self) { _ = try HTTP2Fields(trailers: [.init(name: "sum", value: value)]) },
    ]
    for (refusal, fields) in zip(refusals, ["head", "trailers"]) {
      #expect(refusal?.stage == .request && refusal?.code == .invalidHeader && refusal?.requestSent == false)
      #expect(refusal?.message == "the request's \(fields) may have no more than 1048576 bytes over HTTP/2")
    }
  }
}
