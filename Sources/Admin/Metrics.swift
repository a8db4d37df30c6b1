// The counters of all layers in the Prometheus text format.

import Diagnostics
import Fill
import Proxy
import Store
import Synchronization
import Upstream

/// Renders what the process counts, at the moment it is asked.
struct Metrics: Sendable {
  let context: ProxyContext

  /// The exposition in format 0.0.4: every metric with its help and type.
  func render() -> String {
    var text = ""
    for metric in all() {
      text += "# HELP larder_\(metric.name) \(metric.help)\n# TYPE larder_\(metric.name) \(metric.kind.rawValue)\n"
      text += "larder_\(metric.name) \(metric.value)\n"
    }
    return text
  }

  private struct Metric {
    enum Kind: String {
      case counter, gauge
    }

    let name: String
    let kind: Kind
    let help: String
    let value: String
  }

  private func all() -> [Metric] { proxy() + upstream() + fills() + digests() + store() }

  private func counter(_ name: String, _ value: borrowing Counter, _ help: String) -> Metric {
    count(name, value.value, help)
  }

  private func count(_ name: String, _ value: some BinaryInteger, _ help: String) -> Metric {
    Metric(name: name + "_total", kind: .counter, help: help, value: String(value))
  }

  private func gauge(_ name: String, _ value: some BinaryInteger, _ help: String) -> Metric {
    Metric(name: name, kind: .gauge, help: help, value: String(value))
  }

  private func proxy() -> [Metric] {
    let counters = context.counters
    return [
      counter("client_connections", counters.connections, "Client connections accepted."),
      gauge(
        "open_client_connections", counters.openConnections.load(ordering: .relaxed), "Client connections open now."),
      counter(
        "client_connections_shed", counters.shedConnections, "Client connections closed because there were too many."),
      counter("requests", counters.requests, "Requests answered."),
      counter("hits", counters.hits, "Requests answered wholly from the store."),
      counter("partial_hits", counters.partialHits, "Requests answered in part from the store."),
      counter("misses", counters.misses, "Requests for which the origin was asked first."),
      counter("passes", counters.passes, "Requests relayed without storing."),
      counter(
        "background_validations", counters.backgroundValidations,
        "Stale responses validated while they were being served."),
      counter("tunnels", counters.tunnels, "Tunnels opened by CONNECT or Upgrade."),
      counter("malformed_requests", counters.malformedRequests, "Requests refused because they were malformed."),
      counter("forbidden_requests", counters.forbidden, "Requests refused by the access rules."),
      counter("response_body_bytes", counters.bodyBytes, "Body bytes sent to clients."),
      counter(
        "response_body_bytes_from_cache", counters.bodyBytesFromCache,
        "Of those, bytes that were not fetched for the request."),
      counter(
        "response_body_bytes_from_upstream", counters.bodyBytesFromUpstream,
        "Of those, bytes that the request itself had fetched."),
      counter(
        "aborted_responses", counters.abortedResponses, "Responses cut off because what was missing could not be had."),
      counter("clients_gone", counters.clientsGone, "Responses that the client did not take to the end."),
      counter(
        "decoded_responses", counters.decodedResponses, "Stored responses served with their gzip coding taken off."),
      counter("encoded_responses", counters.encodedResponses, "Stored responses served with a gzip coding put on."),
    ]
      + counters.limits.values.map {
        count("limit_\($0.name)", $0.value, "Times that the limit \($0.name) was reached.")
      }
  }

  private func upstream() -> [Metric] {
    let counters = context.upstreamCounters
    return [
      counter(
        "limit_interim_responses", counters.excessiveInterims, "Times that the limit interim_responses was reached."),
      counter("upstream_connections", counters.connections, "Connections made to origins."),
      counter("upstream_requests", counters.requests, "Requests written to origins."),
      counter(
        "upstream_repeated_requests", counters.repeatedRequests,
        "Requests sent again because a kept connection had died."),
      counter("upstream_body_bytes", counters.bodyBytes, "Body bytes received from origins."),
      counter("upstream_failures", counters.failures, "Exchanges without a complete response."),
    ]
  }

  private func fills() -> [Metric] {
    let counters = context.fills.counters
    return [
      counter("fills", counters.begun, "Fills begun."),
      counter("fill_resumptions", counters.resumptions, "Exchanges that continued a fill after it was cut off."),
      counter("fill_helpers", counters.helpers, "Fills begun beside a slow one, to bring part of the same object."),
      counter("fill_follows", counters.follows, "Responses that followed a fill begun for another."),
      counter("fill_bridged_bytes", counters.bridgedBytes, "Present bytes fetched again to bridge two gaps."),
      counter("fill_skipped_bytes", counters.skippedBytes, "Bytes received that were present or not wanted."),
      counter("fill_wrong_answers", counters.wrongAnswers, "Partial answers refused because they did not fit."),
      counter("fill_superseded", counters.superseded, "Representations superseded because the origin had changed."),
      counter("fill_cancelled", counters.cancelled, "Fills that ended because nobody read them."),
      counter("fill_storage_failures", counters.storageFailures, "Fills whose bytes the store could not take."),
    ]
  }

  private func digests() -> [Metric] {
    let counters = context.fills.digests.counters
    return [
      counter("digests_verified", counters.verified, "Objects that had the digest which their origin stated."),
      counter("digest_mismatches", counters.mismatches, "Objects that had another."),
      counter("digest_refetches", counters.refetches, "Objects fetched anew because they had another."),
      counter("digests_abandoned", counters.abandoned, "Objects that could not be read to compare their digest."),
    ]
  }

  private func store() -> [Metric] {
    let figures = context.store.statistics
    return [
      gauge("store_bytes", figures.bytesStored, "Bytes charged against the cache's size."),
      gauge("store_capacity_bytes", figures.capacity, "The cache's size."),
      gauge("store_reserved_bytes", figures.bytesReserved, "Bytes promised to writes that are to come."),
      gauge("store_objects", figures.objects, "Cache keys with a stored response."),
      gauge("store_representations", figures.representations, "Representations on record."),
      gauge("store_memory_bytes", figures.memoryTierBytes, "Bytes of small bodies in memory."),
      gauge("store_open_files", figures.openFiles, "Data files that are open."),
      gauge(
        "store_pending_commit_bytes", figures.pendingCommitBytes, "Bytes of index changes that are not durable yet."),
      count("store_evictions", figures.evictions, "Representations, or parts of one, removed to make room."),
      count("store_evicted_bytes", figures.evictedBytes, "Bytes removed to make room."),
      count("store_written_bytes", figures.bytesWritten, "Bytes written by fills."),
      count("store_write_errors", figures.writeErrors, "Failed writes, syncs and commits."),
      count("store_read_errors", figures.readErrors, "Failed reads."),
      count("store_checksum_errors", figures.checksumErrors, "Extents whose bytes did not have their checksum."),
      count("store_missing_data", figures.missingData, "Extents whose bytes were gone from their file."),
      count(
        "store_index_errors", figures.indexErrors,
        "Rows of the index that did not have their checksum, and failed looks into it."),
      count("store_commits", figures.commits, "Index commits."),
      count(
        "store_throttled_writes", figures.throttledWrites,
        "Writes handed to the disk threads because the disk throttled."),
      count(
        "store_packs_reclaimed", figures.packsReclaimed, "Pack files removed after their live bodies were copied out."),
      count("store_index_rows_read", figures.indexRowsRead, "Rows of the index that were read."),
      count("store_disk_reads", figures.diskReads, "Reads that waited for the disk."),
    ]
  }
}
