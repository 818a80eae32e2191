// SPDX-License-Identifier: Apache-2.0

import LastroCurl
import Testing

@Suite struct CapabilitiesTests {
  @Test("the linked libcurl has what the engine needs")
  func capabilities() {
    let capabilities = CurlCapabilities.current
    #expect(capabilities.tlsBackend.contains("OpenSSL"))
    #expect(capabilities.http2)
    #expect(capabilities.asynchronousDNS)
    #expect(capabilities.threadSafeInit)
    #expect(capabilities.caFile != nil)
  }

  @Test("SHA-256 is that of FIPS 180-4")
  func digest() throws {
    let digest = try #require(SHA256Digest())
    digest.update([UInt8]("a".utf8))
    digest.update([UInt8]("bc".utf8))
    let text = digest.finalize().map { String($0, radix: 16) }.joined(separator: " ")
    #expect(text.hasPrefix("ba 78 16 bf 8f 1 cf ea"))
    #expect(text.hasSuffix("f2 0 15 ad"))
  }
}
