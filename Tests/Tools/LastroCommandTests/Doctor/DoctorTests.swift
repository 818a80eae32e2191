// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("lastro doctor", .timeLimit(.minutes(15)))
struct DoctorTests {
  @Test("doctor shows versions, features, roots, proxies without passwords, the clock, and packages needed to build")
  func doctor() async throws {
    let result = try await Lastro.run(
      ["doctor"], environment: ["https_proxy": "http://user:secret@proxy.test:1", "HTTP_PROXY": "http://x.test"])
    #expect(result.status == 0, "\(result.text)")
    for word in [
      "libcurl ", "OpenSSL", "HTTP/2", "gzip", "trusted roots in", "public suffix rules in",
      "https_proxy=", "descriptors", "clock",
      "libcurl4-openssl-dev", "libssl-dev", "zlib1g-dev", "libnghttp2-dev",
    ] {
      #expect(result.text.contains(word), "\(word)")
    }
    #expect(result.text.contains("***@proxy.test"))
    #expect(!result.text.contains("secret"))
    #expect(result.text.contains("HTTP_PROXY in upper case is ignored"))
    let broken = try await Lastro.run(["doctor"], environment: ["SSL_CERT_FILE": "/dev/null"])
    #expect(broken.status == 1)
    #expect(broken.text.contains("[!!]"))
  }
}
