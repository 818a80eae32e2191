// SPDX-License-Identifier: Apache-2.0

import Lastro
internal import LastroGemini

/// The output of `lastro gemini --report`.
struct GeminiReport: Encodable {
  var url: String
  @Nullable var status: Int? = nil
  @Nullable var meta: String? = nil
  var bodyBytes: Int64 = 0
  @Nullable var bodySHA256: String? = nil
  var redirects: [String] = []
  @Nullable var error: Report.Failure? = nil

  enum CodingKeys: String, CodingKey {
    case url, status, meta
    case bodyBytes = "body_bytes"
    case bodySHA256 = "body_sha256"
    case redirects, error
  }

  init(url: String) { self.url = Runner.withoutUserInformation(url) }

  mutating func add(_ response: GeminiResponse) {
    url = "\(response.url)"
    status = response.status.rawValue
    meta = response.meta
    redirects = response.redirects.map { "\($0)" }
  }

  mutating func add(_ failure: GeminiError) {
    if let target = failure.url { url = "\(target)" }
    if let header = failure.header { (status, meta) = (header.status.rawValue, header.meta) }
    if !failure.redirects.isEmpty { redirects = failure.redirects.map { "\($0)" } }
    error = Report.Failure(failure.stage, failure.code, failure.message, hint: failure.hint)
  }
}

extension Report.Failure {
  /// Describes a response that is not a success.
  init(_ response: GeminiResponse) {
    let what =
      switch response.status.category {
      case .input: "the server asks for input; --input TEXT answers"
      case .redirect: "the server redirects, and redirects are not followed"
      case .temporaryFailure: "the server failed temporarily"
      case .permanentFailure: "the server failed permanently"
      case .clientCertificate: "the server requires a client certificate; --cert FILE presents one"
      case .success: "the server succeeded"
      }
    let meta = response.meta.isEmpty ? "" : ": \(response.meta.onOneLine)"
    self.init(.http, .unexpectedStatus, "\(what) (status \(response.status)\(meta))")
  }
}
