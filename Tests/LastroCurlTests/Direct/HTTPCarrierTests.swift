// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("What carries HTTP", .timeLimit(.minutes(5)))
struct HTTPCarrierTests {
  @Test("LASTRO_CARRIER says what carries, and a word that it does not know changes nothing")
  func environment() async {
    await #expect(processExitsWith: .success) {
      setenv("LASTRO_CARRIER", "direct", 1)
      #expect(HTTPCarrier.standard == .direct && CurlConfiguration().carrier == .direct)
    }
    await #expect(processExitsWith: .success) {
      setenv("LASTRO_CARRIER", "transfer", 1)
      #expect(HTTPCarrier.standard == .transfer)
    }
    await #expect(processExitsWith: .success) {
      unsetenv("LASTRO_CARRIER")
      #expect(HTTPCarrier.standard == .direct && CurlConfiguration().carrier == .direct)
    }
    await #expect(processExitsWith: .success) {
      setenv("LASTRO_CARRIER", "neither", 1)
      #expect(HTTPCarrier.standard == .direct)
    }
  }

  /// How long a server keeps a connection without a request, in the words of its answer; and whether the next request
  /// goes over it.
  struct Promise: Sendable, CustomTestStringConvertible {
    var field: String
    var isUsed: Bool
    var testDescription: String { field }
  }

  @Test(
    "a connection that the server is about to close serves no other request",
    arguments: [
      Promise(field: "timeout=0", isUsed: false), Promise(field: "max=5, Timeout=0", isUsed: false),
      Promise(field: "timeout=600", isUsed: true), Promise(field: "timeout=x", isUsed: true),
      Promise(field: "max=0", isUsed: true),
    ])
  func keepAlive(_ promise: Promise) async throws {
    let server = try LoopbackServer.http { _ in LoopbackResponse.text("fine").adding("Keep-Alive", promise.field) }
    let engine = try CurlTransport.over(.direct)
    for _ in 0..<3 { #expect(await engine.outcome(server) == .answered(200, "fine")) }
    #expect(server.acceptedConnections == (promise.isUsed ? 1 : 3))
  }
}
