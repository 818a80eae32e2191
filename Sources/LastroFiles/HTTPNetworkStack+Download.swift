// SPDX-License-Identifier: Apache-2.0

public import Lastro

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

extension HTTPNetworkStack {
  /// Downloads what a resource asks for to a file, which has its name when all of it is there.
  ///
  /// ```swift
  /// let file = try await stack.download(.get("https://example.org/image.iso"), to: "/srv/image.iso")
  /// print(file.length, file.resumedFrom)
  /// ```
  ///
  /// What has come stands in `PATH.part`, and what tells of it in `PATH.part.json` (readable for its owner alone,
  /// without credentials). A download that was cut goes on there: after a loss by itself, and when it is called again,
  /// also in another process, after a kill and after a loss of power. A part is asked for under the condition that
  /// nothing changed (`If-Range`, RFC 9110 §13.1.5), and costs at most what came since the last sync, of which there is
  /// one for each 16 MiB and each 5 s. One download at a time writes a path.
  ///
  /// Interceptors, redirects, retries and limits in time are those of ``HTTPNetworkStack/stream(_:)``, for each of the
  /// requests; the model of the resource is not used. No content coding is asked for. Runs on the concurrent pool.
  /// Cancelling syncs what came, and ends the download.
  ///
  /// - Parameters:
  ///   - resource: what is downloaded; its request is a GET without a `Range`.
  ///   - path: where the file is to be. Its folder has to be there. A symbolic link there is replaced, never followed.
  ///   - options: resuming, digest, limits. Default: it resumes, and replaces nothing.
  /// - Throws: as `stream`; and the codes `resume_mismatch`, `digest_mismatch`, `download_in_progress`, `file_exists`,
  ///   `disk_full`, `file_failed`, and `body_too_large` for more than ``DownloadOptions/maximumBytes``.
  @concurrent
  public func download<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, to path: String, options: DownloadOptions = DownloadOptions()
  ) async throws(HTTPFetchError<APIError>) -> DownloadedFile {
    defer { options.progress?.finish() }
    let resource = based(resource)
    let source: DownloadSource
    do {
      try options.check()
      let request = try await resource.baseRequestMaking.make()
      try request.checkDownload()
      source = try DownloadSource(request, resource.options, identity: options.identity)
    } catch {
      throw HTTPFetchError(.noRequest(error))
    }
    let part: PartFile
    do throws(FileFailure) {
      part = try PartFile(path, source: source.hash, replaces: options.replaces, in: options.files)
    } catch {
      let refusal = error.code == EBUSY ? .inProgress(path) : error.transportError(requestSent: false)
      throw HTTPFetchError(.noRequest(refusal), request: "GET \(source.url)")
    }
    var run = DownloadRun(
      resource, by: self, to: part, url: source.url, source: source.hash, options: options)
    return try await run.run()
  }
}
