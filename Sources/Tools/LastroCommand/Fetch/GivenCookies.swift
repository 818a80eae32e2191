// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroEveryday

/// Sends the command line's cookies after those of a jar. They are not put into the jar, because it would refuse some
/// of them, such as one with an invalid name prefix, and save the others.
struct GivenCookies: HTTPResourceInterceptor {
  private let text: String
  private let origin: Origin
  private let jar: CookieJar

  /// - Parameter origin: the origin for which the cookies are meant, so that no redirect takes them elsewhere.
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
