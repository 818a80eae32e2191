// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro

/// Tells on standard error what goes out (`>`), what comes back (`<`), and what fails (`*`).
struct VerboseInterceptor: HTTPResourceInterceptor {
  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    if context.attempt > 1, context.hop == 0 { Console.error("* attempt \(context.attempt)") }
    Console.error("> \(request.head.method.rawValue) \(request.head.scheme ?? "")://\(request.head.authority ?? "")")
    show(request.head.headerFields, mark: ">", hidden: request.options.sensitiveHeaders)
  }

  func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async { show(response, hidden: request.options.sensitiveHeaders) }

  func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    if let response { show(response, hidden: request?.options.sensitiveHeaders ?? []) }
    Console.error("* \(error)")
    return .none
  }

  private func show(_ response: ResourceResponse, hidden: Set<HTTPField.Name>) {
    for url in response.redirects { Console.error("* redirected to \(url.prefix { $0 != "?" })") }
    Console.error("< HTTP/\(response.facts.httpVersion ?? "?") \(response.status.code)")
    show(response.headerFields, mark: "<", hidden: hidden)
  }

  private func show(_ fields: HTTPFields, mark: String, hidden: Set<HTTPField.Name>) {
    let secret: Set<HTTPField.Name> = [.authorization, .cookie, .setCookie, .proxyAuthorization]
    for field in fields {
      let isSecret = secret.contains(field.name) || hidden.contains(field.name)
      Console.error("\(mark) \(field.name.rawName): \(isSecret ? "***" : field.value)")
    }
  }
}
