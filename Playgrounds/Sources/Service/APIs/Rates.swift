// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

/// The API for exchange rates of the euro. It has two interchangeable servers.
struct Rates: HTTPResourceEndpoint {
  let origin: Origin
  let currency: String

  var baseURL: URL { URL(string: "\(origin)") ?? URL(filePath: "/") }
  var path: String? { "rates/\(currency.pathSegment)" }

  var options: RequestOptions { .named("rate", "/rates/{currency}") }
}

struct Rate: Decodable, Sendable {
  let rate: Double
}

extension HTTPResource where Model == Rate, APIError == TextAPIError {
  static func rate(of currency: String, from origin: Origin) -> Self {
    .init(Rates(origin: origin, currency: currency), decoding: .json(), errorDecoding: .text)
  }
}
