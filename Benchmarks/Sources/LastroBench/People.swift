// SPDX-License-Identifier: Apache-2.0

import BenchSupport
import FoundationEssentials
import Lastro

/// The API of the JSON document, declared in the way a service would declare it.
struct People: HTTPResourceEndpoint {
  let baseURL: URL
}

extension HTTPResource where Model == [Person], APIError == TextAPIError {
  static func people(at url: URL) -> Self {
    Self(People(baseURL: url), decoding: .json(), errorDecoding: .text)
  }
}
