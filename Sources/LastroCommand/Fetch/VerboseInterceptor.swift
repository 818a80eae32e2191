// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro

/// Tells on standard error what goes out (`>`), what comes back (`<`), and what fails (`*`).
struct VerboseInterceptor: HTTPResourceInterceptor {
  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    let redaction = Redaction.standard.adding(request.options)
    if context.attempt > 1, context.hop == 0 { Console.error("* attempt \(context.attempt)") }
    let head = request.head
    let url = "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")"
    Console.error("> \(head.method.rawValue) \(redaction.url(url))")
    show(head.headerFields, mark: ">", redaction)
  }

  func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async { show(response, Redaction.standard.adding(request.options)) }

  func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    if let response { show(response, Redaction.standard.adding(request?.options ?? RequestOptions())) }
    Console.error("* \(error)")
    return .none
  }

  private func show(_ response: ResourceResponse, _ redaction: Redaction) {
    for url in response.redirects { Console.error("* redirected to \(redaction.url(url))") }
    Console.error("< HTTP/\(response.facts.httpVersion ?? "?") \(response.status.code)")
    show(response.headerFields, mark: "<", redaction)
  }

  private func show(_ fields: HTTPFields, mark: String, _ redaction: Redaction) {
    for field in fields { Console.error("\(mark) \(field.name.rawName): \(redaction.value(of: field))") }
  }
}
