// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LastroTesting

/// The API's server. It runs in this process on a port that the kernel chooses, with a newly created certificate.
enum DemoServer {
  static let root = Result { try CertificateAuthority(commonName: "Demo root") }
  static let started = Result {
    try LoopbackServer.demo(tls: LoopbackTLS(DemoServer.root.get().issue(hosts: ["localhost", "127.0.0.1"])))
  }

  static var baseURL: URL {
    // If the server did not start, this URL is invalid for a request, and the fetch throws a typed error.
    (try? started.get()).flatMap { URL(string: $0.baseURL) } ?? URL(filePath: "/")
  }
}
