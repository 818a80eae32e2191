// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroEveryday
import LastroSupport

/// The common part of `fetch` and `batch`: performs a specified request, and reports it.
struct Runner: Sendable {
  let stack: any HTTPNetworkStack
  var interceptors: [any HTTPResourceInterceptor] = []
  /// Whether bodies are collected before anything is written, so that a truncated body can be retried.
  var collects = false
  /// Whether links to next pages are followed.
  var paginates = false
  /// Whether bodies of responses outside 2xx are left out.
  var dropsErrorBodies = false

  /// The maximum number of bytes of a body to take in a second; `nil` for no limit.
  var bytesPerSecond: Int?
  /// The clock of the waits for ``bytesPerSecond``.
  var time = TimeSource.continuous

  /// Sends the request and writes the response's body to an output.
  ///
  /// - Parameters:
  ///   - heads: prints the head before each body.
  ///   - progress: called once per chunk with the bytes so far and the announced length.
  func run(
    _ specification: RequestSpecification, into sink: ResponseOutput, heads: HeadPrinter? = nil,
    progress: ((Int64, Int64?) -> Void)? = nil
  ) async throws(ResponseOutput.WriteFailure) -> Report {
    var report = Report(url: Self.withoutUserInformation(specification.url))
    let resource: RawHTTPResource
    let total: Duration?
    let sent = TransferProgressReporter()
    do {
      var request = try specification.request()
      // A reporter serves one call, and pages are several.
      if !paginates { request.options.progress = sent }
      total = request.options.timeouts?.total
      resource = .raw(request, interceptors: interceptors + (try specification.interceptors()))
    } catch {
      report.error = Report.Failure(error)
      return report
    }
    if paginates {
      try await fetchPages(resource, total, &report, sink, heads, progress)
    } else {
      try await fetch(resource, &report, sink, heads, progress)
    }
    report.uploadedBytes = sent.current.bytesSent
    report.bodyBytes = sink.count
    report.bodySHA256 = report.status == nil ? nil : sink.hexDigest()
    return report
  }

  private func fetch(
    _ resource: RawHTTPResource, _ report: inout Report, _ sink: ResponseOutput, _ heads: HeadPrinter?,
    _ progress: ((Int64, Int64?) -> Void)?
  ) async throws(ResponseOutput.WriteFailure) {
    let answer: Fetched<ResponseBody, ResourceResponse>
    do {
      if collects {
        let collected = try await stack.fetch(resource)
        answer = Fetched(value: ResponseBody(collected.value), response: collected.response)
      } else {
        answer = try await stack.stream(resource)
      }
    } catch {
      return try fail(&report, error, sink, heads)
    }
    do {
      try heads?.print(answer.response, in: sink)
      sink.prepareForBody(ofType: answer.response.headerFields[.contentType])
      try await copy(answer, into: sink, progress)
    } catch let error as ResponseOutput.WriteFailure {
      answer.value.cancel()
      throw error
    } catch let error as TransportError {
      report.error = Report.Failure(error)
    } catch {
      report.error = Report.Failure(.response, .engineFailure, "\(error)")
    }
    let facts = answer.value.finalFacts
    report.add(answer.response, facts: facts)
    report.add(answer.response.ledger, facts: facts)
    if report.error != nil, !report.attempts.isEmpty {
      report.attempts[report.attempts.count - 1].outcome = .failed
    }
  }

  /// Prints the bodies of pages, and reports the last page.
  private func fetchPages(
    _ resource: RawHTTPResource, _ total: Duration?, _ report: inout Report, _ sink: ResponseOutput,
    _ heads: HeadPrinter?,
    _ progress: ((Int64, Int64?) -> Void)?
  ) async throws(ResponseOutput.WriteFailure) {
    var pages = stack.pages(resource, by: .link, total: total).makeAsyncIterator()
    var last: ResourceResponse?
    while true {
      let page: FetchedPage<Data>?
      do throws(HTTPFetchError<any Error>) {
        page = try await pages.next()
      } catch {
        return try fail(&report, error, sink, heads)
      }
      guard let page else { break }
      try heads?.print(page.response, in: sink)
      sink.prepareForBody(ofType: page.response.headerFields[.contentType])
      try sink.write(page.value)
      progress?(sink.count, nil)
      last = page.response
    }
    if let last {
      report.add(last, facts: nil)
      report.add(last.ledger)
    }
  }

  /// Reports the failure of a fetch, with the response if there is one.
  private func fail(
    _ report: inout Report, _ error: HTTPFetchError<any Error>, _ sink: ResponseOutput, _ heads: HeadPrinter?
  ) throws(ResponseOutput.WriteFailure) {
    if let response = error.response { report.add(response, facts: nil) }
    report.add(error.ledger)
    report.fail(error)
    if let response = error.response {
      try heads?.print(response, in: sink)
      sink.prepareForBody(ofType: response.headerFields[.contentType])
    }
    if let body = error.body, !dropsErrorBodies { try sink.write(body) }
  }

  /// Returns the URL with its user information masked. Such a URL is refused, and the error must not print the
  /// password.
  static func withoutUserInformation(_ url: String) -> String {
    // An @ in a path or a query does not follow a password.
    let start = url.firstRange(of: "://")?.upperBound
    let marks = start == nil ? "?#" : "/?#"
    let end = url[(start ?? url.startIndex)...].firstIndex { marks.contains($0) } ?? url.endIndex
    return ProxyOptions.masked(String(url[..<end])) + url[end...]
  }

  private func copy(
    _ answer: Fetched<ResponseBody, ResourceResponse>, into sink: ResponseOutput,
    _ progress: ((Int64, Int64?) -> Void)?
  ) async throws {
    let length = answer.response.headerFields[.contentLength].flatMap { Int64(digits: $0) }
    let start = time.now()
    var taken: Int64 = 0
    for try await chunk in answer.value {
      try sink.write(chunk)
      progress?(sink.count, length)
      guard let bytesPerSecond else { continue }
      taken += Int64(chunk.count)
      // While nothing is taken, back-pressure slows the server.
      let wait = start + .seconds(Double(taken) / Double(bytesPerSecond)) - time.now()
      if wait > .zero { try await time.sleep(wait) }
    }
  }
}
