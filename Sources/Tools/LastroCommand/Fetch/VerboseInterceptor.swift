// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl

/// A log on standard error: sent requests (`>`), received heads (`<`), failures (`*`).
struct VerboseInterceptor: HTTPResourceInterceptor {
  /// The configuration of the engine, for the header fields that it adds.
  let engine: CurlConfiguration

  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    guard context.hop == 0 else { return result }
    return result.map { request in
      let redaction = Redaction.standard.adding(request.options)
      return request.tellingInterim { show($0, nil, redaction) }
    }
  }

  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    let redaction = Redaction.standard.adding(request.options)
    if context.attempt > 1, context.hop == 0 { Console.error("* attempt \(context.attempt)") }
    if let response = context.redirectedFrom { show(response.head, response.facts.httpVersion, redaction) }
    let head = request.head
    let url = "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")"
    Console.error("> \(head.method.rawValue) \(redaction.url(url))")
    show(engine.addedFields(to: head, request.body) + Array(head.headerFields), mark: ">", redaction)
    Console.error(">")
  }

  func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async { show(response.head, response.facts.httpVersion, Redaction.standard.adding(request.options)) }

  func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    if let response {
      show(
        response.head, response.facts.httpVersion, Redaction.standard.adding(request?.options ?? RequestOptions()))
    }
    Console.error("* \(error)")
    return .none
  }

  private func show(_ head: HTTPResponse, _ version: String?, _ redaction: Redaction) {
    Console.error("< \(head.shownStatusLine(version))")
    show(Array(head.headerFields), mark: "<", redaction)
    Console.error("<")
  }

  private func show(_ fields: [HTTPField], mark: String, _ redaction: Redaction) {
    for field in fields { Console.error("\(mark) \(field.name.rawName): \(redaction.value(of: field))") }
  }
}
