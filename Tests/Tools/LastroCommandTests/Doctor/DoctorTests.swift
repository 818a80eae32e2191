// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import TestSupport
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

  @Test("doctor reports whether client certificates are valid, end soon, have ended, or cannot be read")
  func clientCertificates() async throws {
    let authority = try CertificateAuthority()
    func file(_ days: ClosedRange<Int>) throws -> CertificateFiles {
      try CertificateFiles(authority.issue(hosts: [], commonName: "client", days: days))
    }
    let good = try file(0...365), near = try file(-355...10), old = try file(-366 ... -1), early = try file(2...365)
    let fine = try await Lastro.run(["doctor", "--cert", good.chain, "-E", near.chain])
    #expect(fine.status == 0, "\(fine.text)")
    #expect(fine.text.contains("[ok] the client certificate \(good.chain) (CN=client) expires in 364 days, at "))
    #expect(fine.text.contains("[--] the client certificate \(near.chain) (CN=client) expires in 9 days, at "))
    for (path, words) in [
      (old.chain, "(CN=client) has expired, at "), (early.chain, "is not valid before "),
      (good.privateKey, "cannot be used"), (good.directory + "/none", "cannot be read"),
    ] {
      let bad = try await Lastro.run(["doctor", "--cert", path])
      #expect(bad.status == 1, "\(bad.text)")
      #expect(bad.text.contains("[!!] the client certificate \(path) "), "\(bad.text)")
      #expect(bad.text.contains(words), "\(bad.text)")
    }
  }
}
