// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroEveryday
import LastroWire
import PeerSupport
import TestSupport
import Testing

@Suite("Cache in front of nginx", .peers(.nginx), .timeLimit(.minutes(15)))
struct NginxCacheTests {
  let stack: TransportNetworkStack

  init() throws {
    var configuration = StackConfiguration()
    configuration.cache = HTTPCache()
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    stack = TransportNetworkStack(transport: try CurlTransport(engine), configuration: configuration)
  }

  private func get(
    _ path: String, _ fields: HTTPFields = [:], _ mode: CacheMode? = nil, method: HTTPRequest.Method = .get,
    body: RequestBody = .empty
  ) async throws -> (Data, ResourceResponse) {
    var options = RequestOptions()
    options.cache = mode
    let url = "http://127.0.0.1:\(try Peers.nginx.ports.plain)\(path)"
    let value = try await stack.fetch(.test(method, url: url, fields: fields, body: body, options: options))
    return (value.value, value.response)
  }

  @Test("nginx responds 304 to the validators, and complete responses are served again")
  func validation() async throws {
    let (whole, first) = try await get("/files/1m")
    #expect(first.facts.cacheReport?.isStored == true)
    let (again, second) = try await get("/files/1m", [:], .revalidate)
    #expect(again == whole && second.status == .ok)
    #expect(second.facts.cache == .revalidated && second.facts.cacheReport?.forwardStatus == 304)
  }

  @Test("A range from the cache equals nginx's, byte for byte and field for field")
  func ranges() async throws {
    _ = try await get("/files/1m")
    for range in ["bytes=10-19", "bytes=1048570-", "bytes=-7"] {
      let (own, ownHead) = try await get("/files/1m", [.range: range], .preferStored)
      let (theirs, theirHead) = try await get("/files/1m", [.range: range], .noStore)
      #expect(ownHead.facts.cacheReport?.forwardReason == nil && theirHead.facts.cacheReport?.forwardReason == .bypass)
      #expect(own == theirs && ownHead.status == theirHead.status)
      for name in [HTTPField.Name.contentRange, .contentLength, .eTag, .lastModified] {
        #expect(ownHead.headerFields[name] == theirHead.headerFields[name])
      }
    }
  }

  @Test("A PUT replaces the stored response")
  func invalidation() async throws {
    let path = "/upload/cache-\(UInt64.random(in: 0 ... .max))"
    for text in ["first", "second"] {
      _ = try await get(path, method: .put, body: RequestBody(source: .bytes(Data(text.utf8))))
      #expect(try await get(path, [:], .preferStored).0 == Data(text.utf8))
      #expect(try await get(path, [:], .onlyStored).0 == Data(text.utf8))
    }
  }
}
