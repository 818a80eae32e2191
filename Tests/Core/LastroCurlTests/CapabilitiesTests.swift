// SPDX-License-Identifier: Apache-2.0

import LastroCurl
import Testing

@Suite("Capabilities of libcurl")
struct CapabilitiesTests {
  @Test("The linked libcurl has every capability that the engine needs")
  func capabilities() {
    let capabilities = CurlCapabilities.current
    #expect(capabilities.tlsBackend.contains("OpenSSL"))
    #expect(capabilities.http2)
    #expect(capabilities.asynchronousDNS)
    #expect(capabilities.threadSafeInit)
    #expect(capabilities.caFile != nil)
  }
}
