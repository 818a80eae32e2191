// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCookies

/// Sends cookies of the command line behind those of a jar. They are not put into it: it would refuse some, such as one
/// whose name has a prefix, and keep the others.
struct GivenCookies: HTTPResourceInterceptor {
  private let text: String
  private let origin: Origin
  private let jar: CookieJar

  /// - Parameter origin: the one that they are for, so that no redirect takes them elsewhere.
  init(_ text: String, for origin: Origin, beside jar: CookieJar) {
    (self.text, self.origin, self.jar) = (text, origin, jar)
  }

  var credentialOrigins: [Origin] { [origin] }
  var hooksWait: Bool { false }

  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    result.flatMap { request in
      guard Origin(request.head) == origin else { return result }
      var request = request
      return Result {
        let kept = try jar.cookies(for: request.url)
        let pairs = kept.map { ($0.name.isEmpty ? "" : $0.name + "=") + $0.value.reveal() }
        try request.setHeader("Cookie", (pairs + [text]).joined(separator: "; "))
        return request
      }
    }
  }
}
