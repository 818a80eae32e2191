// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

/// How many there are of an article: an API whose answers may be kept.
struct Stock: HTTPResourceEndpoint {
  let baseURL: URL
  let sku: String

  var path: String? { "stock/\(sku.pathSegment)" }

  var options: RequestOptions { .named("stock", "/stock/{sku}") }
}

struct StockCount: Decodable, Sendable {
  let count: Int
}

extension HTTPResource where Model == StockCount, APIError == TextAPIError {
  static func stock(of sku: String, from baseURL: URL) -> Self {
    .init(Stock(baseURL: baseURL, sku: sku), decoding: .json(), errorDecoding: .text)
  }
}
