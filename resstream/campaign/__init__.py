"""Campaigns: hours of search over many claims, which can be broken off, gone on with, merged and reported."""

from resstream.campaign.report import report
from resstream.campaign.run import Status, campaign
from resstream.campaign.store import Merged, Store, merge

__all__ = ["Merged", "Status", "Store", "campaign", "merge", "report"]
