// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroEveryday

extension FetchCommand {
  /// Downloads to a file, and returns a report like that of a fetch.
  func download(
    _ specification: RequestSpecification, to path: String, by stack: TransportNetworkStack,
    _ verbose: VerboseInterceptor?
  ) async -> Report {
    var report = Report(url: Runner.withoutUserInformation(specification.url))
    let resource: RawHTTPResource
    do {
      let own: [any HTTPResourceInterceptor] = verbose.map { [$0] } ?? []
      resource = .raw(try specification.request(), interceptors: own + (try specification.interceptors()))
    } catch {
      report.error = Report.Failure(error)
      return report
    }
    var options = downloadFlags.options(limit: specification.maxBody)
    let progress = TransferProgressReporter()
    options.progress = progress
    async let bar: Void = show(progress)
    let result = await Self.result(of: resource, to: path, by: stack, options)
    await bar
    add(result, to: &report)
    return report
  }

  /// Downloads until the end, or until SIGINT or SIGTERM, after which a resumable download writes its state.
  private static func result(
    of resource: RawHTTPResource, to path: String, by stack: TransportNetworkStack, _ options: DownloadOptions
  ) async -> Result<DownloadedFile, HTTPFetchError<any Error>> {
    guard options.resumes else { return await download(resource, to: path, by: stack, options) }
    let task = Task { await download(resource, to: path, by: stack, options) }
    let signals = Signals { task.cancel() }
    defer { signals.restore() }
    return await task.value
  }

  private static func download(
    _ resource: RawHTTPResource, to path: String, by stack: TransportNetworkStack, _ options: DownloadOptions
  ) async -> Result<DownloadedFile, HTTPFetchError<any Error>> {
    do throws(HTTPFetchError<any Error>) {
      return .success(try await stack.download(resource, to: path, options: options))
    } catch {
      return .failure(error)
    }
  }

  private func add(_ result: Result<DownloadedFile, HTTPFetchError<any Error>>, to report: inout Report) {
    switch result {
    case .success(let file):
      report.bodyBytes = file.length
      report.downloadedBytes = file.length - file.resumedFrom
      if let obstacle = file.resumeObstacle, output.verbose, downloadFlags.continueAt != nil {
        Console.error("* this download could not have been resumed: \(obstacle.onOneLine)")
      }
      if let response = file.response {
        report.add(response, facts: nil)
        report.add(response.ledger)
      }
    case .failure(let error):
      if let response = error.response { report.add(response, facts: nil) }
      report.add(error.ledger)
      report.fail(error)
    }
  }

  private func show(_ progress: TransferProgressReporter) async {
    var bar: ProgressBar?
    for await step in progress.updates {
      if bar == nil {
        bar = ProgressBar(total: step.totalBytesToReceive, isEnabled: showsBar)
      }
      bar?.update(step.bytesReceived)
    }
    bar?.erase()
  }
}
