// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroEveryday
import LastroSupport

/// Performs a request as specified, and reports it: the common part of `fetch` and `batch`.
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

  /// Sends the request and writes the response's body to an output.
  ///
  /// - Parameters:
  ///   - heads: prints the head before each body.
  ///   - progress: called once per chunk with the bytes so far and the announced length.
  func run(
    _ specification: RequestSpecification, into sink: ResponseOutput, heads: HeadPrinter? = nil,
    progress: ((Int64, Int64?) -> Void)? = nil
  ) async throws(ResponseOutput.WriteFailure) -> (report: Report, hint: String?) {
    var report = Report(url: Self.withoutUserInformation(specification.url))
    let resource: RawHTTPResource
    var pageOptions = PageOptions()
    let sent = TransferProgressReporter()
    do {
      var request = try specification.request()
      // A reporter serves one call, and pages are several.
      if !paginates { request.options.progress = sent }
      pageOptions.total = request.options.timeouts?.total
      resource = .raw(request, interceptors: interceptors + (try specification.interceptors()))
    } catch let error as TransportError {
      report.fail(error.stage, error.code, error.message)
      return (report, error.hint)
    } catch {
      report.fail(.request, .invalidOption, "\(error)")
      return (report, nil)
    }
    var result =
      try await paginates
      ? fetchPages(resource, pageOptions, &report, sink, heads, progress)
      : fetch(resource, &report, sink, heads, progress)
    result.report.uploadedBytes = sent.current.bytesSent
    return result
  }

  private func fetch(
    _ resource: RawHTTPResource, _ report: inout Report, _ sink: ResponseOutput, _ heads: HeadPrinter?,
    _ progress: ((Int64, Int64?) -> Void)?
  ) async throws(ResponseOutput.WriteFailure) -> (report: Report, hint: String?) {
    var hint: String?
    let answer: Fetched<ResponseBody, ResourceResponse>
    do {
      if collects {
        let collected = try await stack.fetch(resource)
        answer = Fetched(value: ResponseBody(collected.value), response: collected.response)
      } else {
        answer = try await stack.stream(resource)
      }
    } catch {
      let hint = try fail(&report, error, sink, heads)
      return (report, hint)
    }
    do {
      try heads?.print(answer.response, in: sink)
      sink.begin(answer.response.headerFields[.contentType])
      try await copy(answer, into: sink, progress)
    } catch let error as ResponseOutput.WriteFailure {
      answer.value.cancel()
      throw error
    } catch let error as TransportError {
      report.fail(error.stage, error.code, error.message)
      hint = error.hint
    } catch {
      report.fail(.response, .engineFailure, "\(error)")
    }
    let facts = answer.value.finalFacts
    report.add(answer.response, facts: facts)
    report.add(answer.response.ledger, facts: facts)
    if report.error != nil, !report.attempts.isEmpty {
      report.attempts[report.attempts.count - 1].outcome = .failed
    }
    report.bodyBytes = sink.count
    report.bodySHA256 = sink.hexDigest()
    return (report, hint)
  }

  /// Prints the bodies of pages, and reports the last page.
  private func fetchPages(
    _ resource: RawHTTPResource, _ options: PageOptions, _ report: inout Report, _ sink: ResponseOutput,
    _ heads: HeadPrinter?,
    _ progress: ((Int64, Int64?) -> Void)?
  ) async throws(ResponseOutput.WriteFailure) -> (report: Report, hint: String?) {
    var pages = stack.pages(resource, by: .link, options: options).makeAsyncIterator()
    var last: ResourceResponse?
    while true {
      let page: FetchedPage<Data>?
      do throws(HTTPFetchError<any Error>) {
        page = try await pages.next()
      } catch {
        let hint = try fail(&report, error, sink, heads)
        return (report, hint)
      }
      guard let page else { break }
      try heads?.print(page.response, in: sink)
      sink.begin(page.response.headerFields[.contentType])
      try sink.write(page.value)
      progress?(sink.count, nil)
      last = page.response
    }
    if let last {
      report.add(last, facts: nil)
      report.add(last.ledger)
    }
    report.bodyBytes = sink.count
    report.bodySHA256 = sink.hexDigest()
    return (report, nil)
  }

  /// - Returns: the hint of the error.
  private func fail(
    _ report: inout Report, _ error: HTTPFetchError<any Error>, _ sink: ResponseOutput, _ heads: HeadPrinter?
  ) throws(ResponseOutput.WriteFailure) -> String? {
    if let response = error.response { report.add(response, facts: nil) }
    report.add(error.ledger)
    report.fail(error)
    if let response = error.response {
      try heads?.print(response, in: sink)
      sink.begin(response.headerFields[.contentType])
    }
    if let body = error.body, !dropsErrorBodies { try sink.write(body) }
    report.bodyBytes = sink.count
    report.bodySHA256 = error.response == nil ? nil : sink.hexDigest()
    return error.hint
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
    let start = ContinuousClock.now
    var taken: Int64 = 0
    for try await chunk in answer.value {
      try sink.write(chunk)
      progress?(sink.count, length)
      guard let bytesPerSecond else { continue }
      taken += Int64(chunk.count)
      // While nothing is taken, back-pressure slows the server.
      try await Task.sleep(until: start + .seconds(Double(taken) / Double(bytesPerSecond)), clock: .continuous)
    }
  }
}
