// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LastroTesting

/// The API's server: it lives in this process, on a port of the kernel's choice, with a certificate made for the
/// occasion.
enum DemoServer {
  static let started = Result { try DemoAPI.start() }

  static var baseURL: URL {
    // A URL that no request can be made of is a typed error of the fetch, so nothing has to be trapped here.
    (try? started.get()).flatMap { URL(string: $0.baseURL) } ?? URL(filePath: "/")
  }
}
